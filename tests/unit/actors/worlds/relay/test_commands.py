"""Commands to the subscribers of a site, and their results."""

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from callboard.actors.subscriber.effects import CarryResults, ForwardCommand, ResultsCarried
from callboard.actors.worlds.relay.site_board import SiteMember
from callboard.messages.distribution.topic_messages import (
    ClearCommand,
    CommandMessage,
    CommandResultMessage,
    PauseCommand,
    RetryCommand,
    SiteReport,
    SkipCommand,
)
from callboard.messages.event import replaced
from callboard.messages.headers import new_record, open_record
from callboard.messages.record import NewRecord
from tests.unit.actors.worlds.relay.site import NAME, TOPICS, Relay, play

EDGE = SiteMember(name="edge", instance="e", state="idle", counts=True, offset=3)
MITTE = SiteMember(name="mitte", instance="m", state="idle", counts=True, offset=3, report=SiteReport(log_id="x"))


def command(subscriber: str = f"{NAME}/edge", **kind: object) -> CommandMessage:
    given = kind or {"pause": PauseCommand()}
    return CommandMessage(subscriber=subscriber, subscriber_instance="relay", command_id="c1", author="ann", **given)  # type: ignore[arg-type]


async def relay_three(it: Relay) -> None:
    """At the site, offset 1 is its own, and 2, 3 and 4 are offsets 1, 2 and 3 of the source."""
    await it.site.log.append(TOPICS.package, [NewRecord(payload=b"own", headers=())])
    await it.open()
    await it.world.perform(await it.import_(await it.publish("a", "b", "c"), await it.ledger()))
    it.site.known = [EDGE, MITTE]


async def commands(it: Relay) -> list[CommandMessage]:
    found = await it.site.log.read(TOPICS.command, 1)
    return [open_record(record, CommandMessage) for record in found]


async def forwarded(it: Relay, given: CommandMessage) -> CommandMessage:
    assert await it.world.perform(ForwardCommand(given, 9)) == ""
    (found,) = await commands(it)
    return found


def test_a_command_is_addressed_as_at_the_site(tmp_path: Path) -> None:
    async def scene(it: Relay) -> None:
        await relay_three(it)
        there = await forwarded(it, command())
        assert there == replaced(
            command(), subscriber="edge", subscriber_instance="e", command_id=f"{NAME}/c1", position=3,
            log_id=await it.site.log.identity(TOPICS.package),
        )  # fmt: skip

    play(tmp_path, scene)


@pytest.mark.parametrize(
    ("given", "there"),
    [
        ({"skip": SkipCommand(offset=2)}, {"skip": SkipCommand(offset=3)}),
        ({"retry": RetryCommand(offset=3)}, {"retry": RetryCommand(offset=4)}),
        ({"retry": RetryCommand(offset=-1)}, {"retry": RetryCommand(offset=-1)}),
        ({"clear": ClearCommand(offset=2)}, {"clear": ClearCommand(offset=3)}),
        ({"clear": ClearCommand(offset=99)}, {"clear": ClearCommand(offset=4)}),
    ],
)
def test_its_offsets_become_those_of_the_site(tmp_path: Path, given: dict[str, Any], there: dict[str, Any]) -> None:
    async def scene(it: Relay) -> None:
        await relay_three(it)
        found = await forwarded(it, command(**given))
        assert {kind: getattr(found, kind) for kind in there} == there

    play(tmp_path, scene)


def test_a_clear_leaves_what_was_published_at_the_site_since(tmp_path: Path) -> None:
    async def scene(it: Relay) -> None:
        await relay_three(it)
        await it.site.log.append(TOPICS.package, [NewRecord(payload=b"of the site", headers=())])
        found = await forwarded(it, command(clear=ClearCommand(offset=99)))
        assert found.clear == ClearCommand(offset=4)

    play(tmp_path, scene)


def test_a_command_that_is_forwarded_again_is_there_once(tmp_path: Path) -> None:
    async def scene(it: Relay) -> None:
        await relay_three(it)
        for _ in range(2):
            await it.world.perform(ForwardCommand(command(), 9))
        assert len(await commands(it)) == 1

    play(tmp_path, scene, keys=True)


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (command(f"{NAME}/nobody"), "has no subscriber 'nobody'; it has: edge, mitte"),
        (command(f"{NAME}/edge/deeper"), "has no subscriber 'edge/deeper'"),
        (command(skip=SkipCommand(offset=9)), "offset 9 was not relayed to site berlin"),
        (command(retry=RetryCommand(offset=0)), "offset 0 was not relayed to site berlin"),
        (command(clear=ClearCommand(offset=0)), "nothing up to offset 0 that was relayed is on the log of berlin"),
    ],
)
def test_what_cannot_be_carried_out_there_is_refused_by_the_relay(
    tmp_path: Path, given: CommandMessage, why: str
) -> None:
    async def scene(it: Relay) -> None:
        await relay_three(it)
        assert why in await it.world.perform(ForwardCommand(given, 9))
        assert await commands(it) == []

    play(tmp_path, scene)


def test_a_command_for_a_subscriber_behind_another_relay_goes_to_that_one(tmp_path: Path) -> None:
    async def scene(it: Relay) -> None:
        await relay_three(it)
        there = await forwarded(it, command(f"{NAME}/mitte/edge-7"))
        assert (there.subscriber, there.subscriber_instance, there.position) == ("mitte/edge-7", "m", -1)

    play(tmp_path, scene)


async def answer(it: Relay, command_id: str, **said: object) -> None:
    result = CommandResultMessage(
        subscriber_instance="e", subscriber="edge", command_id=command_id, command_offset=1, accepted=True,
        **{"offset": 3, "sequence": 5} | said,  # type: ignore[arg-type]
    )  # fmt: skip
    record = new_record(result, record_id=f"{command_id}-answer", time_ns=1, producer="edge")
    await it.site.log.append(TOPICS.status, [record])


async def results(it: Relay) -> list[CommandResultMessage]:
    return [open_record(record, CommandResultMessage) for record in await it.source.read(TOPICS.status, 1)]


def test_results_of_forwarded_commands_come_back_each_once(tmp_path: Path) -> None:
    async def scene(it: Relay) -> None:
        await relay_three(it)
        await answer(it, f"{NAME}/c1", reason="done")
        await answer(it, "its own")
        await answer(it, "another/c2")
        carried: ResultsCarried = await it.world.perform(CarryResults())
        assert carried.next == 4
        (found,) = await results(it)
        assert (found.subscriber, found.command_id, found.reason) == (f"{NAME}/edge", "c1", "done")
        assert found.offset == 2, "by the offsets of the log that the relay reads"
        await it.again().perform(CarryResults())
        assert len(await results(it)) == 1, "a relay that starts again reads some of them again"

    play(tmp_path, scene)


def test_a_result_that_the_status_topic_repeats_is_carried_once(tmp_path: Path) -> None:
    async def scene(it: Relay) -> None:
        await relay_three(it)
        for _ in range(2):  # as a topic that is shortened repeats it
            await answer(it, f"{NAME}/c1")
        await it.world.perform(CarryResults())
        assert len(await results(it)) == 1

    play(tmp_path, scene)


def test_what_is_on_the_status_topic_of_others_is_passed_over(tmp_path: Path) -> None:
    async def scene(it: Relay) -> None:
        await relay_three(it)
        garbage = NewRecord(payload=b"\xff", headers=(("type", "CommandResultMessage"),))
        await it.site.log.append(TOPICS.status, [garbage])
        await answer(it, f"{NAME}/c1")
        assert (await it.world.perform(CarryResults())).next == 3
        assert len(await results(it)) == 1

    play(tmp_path, scene)


@pytest.mark.parametrize("listing", ["x", "../../etc/passwd", hashlib.sha256(b"another").hexdigest()])
def test_a_result_with_a_list_that_cannot_be_copied_does_not_hold_up_others(tmp_path: Path, listing: str) -> None:
    async def scene(it: Relay) -> None:
        await relay_three(it)
        it.site.blobs._blobs[hashlib.sha256(b"another").hexdigest()] = (b"damaged", 1)
        await answer(it, f"{NAME}/c1", listing_ref=listing, sequence=5)
        await answer(it, f"{NAME}/c2", sequence=6)
        await it.world.perform(CarryResults())
        assert [found.command_id for found in await results(it)] == ["c1", "c2"]

    play(tmp_path, scene)


def test_results_of_another_log_are_read_from_its_newest_on(tmp_path: Path) -> None:
    async def scene(it: Relay) -> None:
        await relay_three(it)
        await answer(it, f"{NAME}/c1")
        carried = await it.world.perform(CarryResults("another log", 900))
        assert carried == ResultsCarried(await it.site.log.identity(TOPICS.status), 2)

    play(tmp_path, scene)


def test_a_topic_that_ends_in_a_gap_is_not_read_over_and_over(tmp_path: Path) -> None:
    async def scene(it: Relay) -> None:
        await relay_three(it)
        await answer(it, f"{NAME}/c1")
        identity = await it.site.log.identity(TOPICS.status)
        await it.site.log.complete(TOPICS.status, identity, 1, 9)
        assert await it.world.perform(CarryResults(identity, 2)) == ResultsCarried(identity, 9)

    play(tmp_path, scene)


def test_a_result_says_all_was_processed_if_nothing_was_relayed_behind_it(tmp_path: Path) -> None:
    async def scene(it: Relay) -> None:
        await relay_three(it)
        await answer(it, f"{NAME}/c1", offset=4)
        await it.world.perform(CarryResults())
        (found,) = await results(it)
        assert found == replace(found, offset=3)

    play(tmp_path, scene)
