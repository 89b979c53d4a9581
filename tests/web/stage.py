"""A board with something to see: real subscribers, some of them in trouble, and what strangers wrote to its log."""

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from callboard import Callboard
from callboard.actors.core.backoff import Backoff
from callboard.messages.distribution.topic_messages import (
    DiscoveryMessage,
    Kind,
    PackageMessage,
    PackageStatusMessage,
    State,
    Status,
    SubscriberConfiguration,
)
from callboard.messages.headers import new_record
from callboard.messages.record import NewRecord

HOSTILE = "\"'><script>alert(1)</script>\u202e"
"""A name with which a page could be broken out of, and one mark that turns the direction of writing."""

LONG = "n" * 1000
"""The longest name that is read from a log."""

DEADLINE_S = 30.0
ONCE = {"editable": True, "max_retries": 0, "retry": Backoff(first_s=0.01, max_s=0.01)}


class Disk(Exception):
    """What the hook of a subscriber raises."""


async def refuse(_: object) -> None:
    """A hook that lets nothing in."""
    raise Disk("the disk is full, says <b>edge</b>")


@asynccontextmanager
async def staged(folder: Path) -> AsyncIterator[Callboard]:
    """Four subscribers: one that has everything, one that is blocked, one that quarantined, and one that gave up."""
    site = folder / "site"
    (site / "blog").mkdir(parents=True)
    (site / "index.html").write_text("<h1>home</h1>")
    (site / "blog" / "a.html").write_text("the first night")
    async with AsyncExitStack() as stack:
        board = await stack.enter_async_context(Callboard(f"sqlite:///{folder / 'board.db'}"))
        main = board.publisher("main")
        await main.publish(site, user="ada")
        good = await stack.enter_async_context(board.subscriber("good", folder / "good", editable=True))
        await good.caught_up(DEADLINE_S)
        for name, then in (("stuck", "block"), ("careful", "quarantine"), ("careless", "skip")):
            into = folder / name
            await stack.enter_async_context(board.subscriber(name, into, before_import=refuse, on_give_up=then, **ONCE))
        (site / "blog" / "a.html").write_text("the second night")
        (site / "blog" / "b.html").write_text("another page")
        await main.publish(site, ["/blog"], full=True, user="ben")
        await main.delete(["/blog/b.html"], user="ben")
        await good.caught_up(DEADLINE_S)
        await settled(board)
        yield board


async def settled(board: Callboard) -> None:
    """Wait until each has announced what became of it."""
    async with asyncio.timeout(DEADLINE_S):
        while True:
            rows = {row.name: row for row in (await board.status()).subscribers}
            given_up = all(rows[name].errors == 3 and rows[name].state == "idle" for name in ("careful", "careless"))
            if given_up and rows["stuck"].state == "blocked" and rows["good"].lag_packages == 0:
                return
            await asyncio.sleep(0.02)


async def tell(board: Callboard, topic: str, events: Sequence[DiscoveryMessage | PackageStatusMessage]) -> list[int]:
    """Append what subscribers say, as any process with access to the log can; returns the offsets."""
    now_ns = time.time_ns()
    records = [
        new_record(event, record_id=board.context.new_id(), time_ns=now_ns, producer=f"{event.subscriber}/1")
        for event in events
    ]
    return await board.log.append(topic, records)


async def fleet_of(board: Callboard, names: Sequence[str], **said: object) -> None:
    """Announce subscribers that do not run."""
    topics, log_id = board.settings.topics, await board.log.identity(board.settings.topics.package)
    own = SubscriberConfiguration(editable=True, max_retries=-1, repository="/srv/site")
    at = {"log_id": log_id, "time_ns": time.time_ns(), "configuration": own, "state": State.IDLE} | said
    for start in range(0, len(names), 500):
        events = [
            DiscoveryMessage(subscriber=name, subscriber_instance=f"of-{number}", **at)
            for number, name in enumerate(names[start : start + 500], start)
        ]
        await tell(board, topics.discovery, events)


async def packages(board: Callboard, count: int, publisher: str = "main", path: str = "/p/{}") -> None:
    """Append packages that remove a path."""
    made = "0" * 32
    for start in range(0, count, 1000):
        records = list[NewRecord]()
        for number in range(start, min(start + 1000, count)):
            message = PackageMessage(
                publisher_instance=made, publisher=publisher, package_id=f"{number:032x}", kind=Kind.DELETE,
                paths=(path.format(number),), user="ada",
            )  # fmt: skip
            records.append(new_record(message, record_id=message.package_id, time_ns=time.time_ns(), producer="main/1"))
        await board.log.append(board.settings.topics.package, records)


def failure(subscriber: str, offset: int, reason: str, publisher: str = "main") -> PackageStatusMessage:
    """That the subscriber gave a package up."""
    return PackageStatusMessage(
        subscriber_instance="1", subscriber=subscriber, publisher=publisher, offset=offset, reason=reason, attempts=3,
        status=Status.REMOVED_FAILED, package_id="p" * 32, sequence=1, time_ns=time.time_ns(),
    )  # fmt: skip
