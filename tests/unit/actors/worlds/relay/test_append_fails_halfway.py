"""What a relay knows of its site, while it cannot store it."""

from dataclasses import replace
from pathlib import Path

import pytest

from callboard.errors import BlobMissing, RepositoryUnavailable
from callboard.messages import codec
from callboard.messages.distribution.ledger import Ledger
from tests.unit.actors.worlds.relay.site import TOPICS, Relay, play

ABSENT = "0" * 64


async def lose_ledger(it: Relay) -> Ledger:
    """a and b are at the site, and the ledger does not know it."""
    ledger = await it.ledger()
    await it.open()
    before = codec.encode(ledger)
    await it.world.perform(await it.import_(await it.publish("a", "b"), ledger))
    it.store.ledger = before
    it.again()
    await it.open()
    return ledger


async def fail(it: Relay, ledger: Ledger) -> None:
    """What is at the site is found, then something else fails, so it is not stored."""
    effect = await it.import_(await it.publish("c"), ledger)
    wanting = replace(effect.packages[-1], content_ref=ABSENT)
    with pytest.raises(BlobMissing):
        await it.world.perform(replace(effect, packages=(*effect.packages[:-1], wanting)))


def test_what_was_found_at_the_site_is_known_when_each_package_is_tried_alone(tmp_path: Path) -> None:
    async def scene(it: Relay) -> None:
        ledger = await lose_ledger(it)
        await fail(it, ledger)
        for record in await it.read():
            ledger = await it.world.perform(await it.import_([record], ledger))
        assert await it.there() == [("a", 1), ("b", 2), ("c", 3)]

    play(tmp_path, scene)


def test_what_was_found_at_the_site_must_still_be_there(tmp_path: Path) -> None:
    async def scene(it: Relay) -> None:
        ledger = await lose_ledger(it)
        await fail(it, ledger)
        topic, log = TOPICS.package, it.site.log
        log._topic(topic).records.pop()
        await log.append(topic, [])
        with pytest.raises(RepositoryUnavailable, match="was set back to an older copy: offset 2"):
            await it.world.perform(await it.import_(await it.read(), ledger))

    play(tmp_path, scene)
