"""The harness that checks receive, and functions that they share."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from callboard.backends.log import Capability, Log
from callboard.messages.record import Headers, NewRecord, Record
from callboard.testing.conformance.verdict import NotDeclared

SOON_S = 60.0
"""Deadline in seconds for what must happen: long, because only a failing log reaches it."""

NOT_YET_S = 0.05
"""Seconds to watch for what must not happen."""


@dataclass(frozen=True, slots=True)
class LogHarness:
    """An empty log under test. Every check gets a new harness.

    Attributes:
        open: opens the log, or with ``SHARED`` or ``DURABLE`` another handle on the same one.
        gap: raises the topic's next offset by a number, for logs whose offsets can have gaps.
        pass_time: advances the log's clock by seconds, for logs whose clock can be set.
        topic: the topic to use; names that begin with it are free as well.
        url: what ``open_log`` opens in another process, for logs that other processes can open.
        restart: kills the log's server and starts it again, for logs with a private server.
        replace: replaces the topic by another, empty one, for logs where this can happen.
    """

    open: Callable[[], Awaitable[Log]]
    gap: Callable[[Log, str, int], Awaitable[None]] | None = None
    pass_time: Callable[[float], None] | None = None
    topic: str = "checked"
    url: str | None = None
    restart: Callable[[], Awaitable[None]] | None = None
    replace: Callable[[Log, str], Awaitable[None]] | None = None


@asynccontextmanager
async def opened(harness: LogHarness, *needed: Capability, without: Capability = Capability.NONE) -> AsyncIterator[Log]:
    """The log with the topic ensured, closed at the end.

    Raises ``NotDeclared`` if the log lacks a needed capability, or declares ``without``: then there is nothing to
    refuse.
    """
    log = await harness.open()
    try:
        for capability in needed:
            if capability not in log.capabilities:
                raise NotDeclared(str(capability.name))
        if without & log.capabilities:
            raise NotDeclared(f"NOT_{without.name}")
        await log.ensure(harness.topic)
        yield log
    finally:
        await log.close()


@asynccontextmanager
async def opened_twice(harness: LogHarness, *needed: Capability) -> AsyncIterator[tuple[Log, Log]]:
    """Two handles on the log if several processes may have one, else the same one twice."""
    async with opened(harness, *needed) as one:
        if Capability.SHARED in one.capabilities:
            async with opened(harness) as other:
                yield one, other
        else:
            yield one, one


def new(text: str | bytes, key: str = "", headers: Headers = ()) -> NewRecord:
    """A record to append."""
    payload = text.encode() if isinstance(text, str) else text
    return NewRecord(payload=payload, key=key, headers=headers)


async def fill(log: Log, topic: str, count: int, size: int = 0) -> list[int]:
    """Append records with the payloads ``0``, ``1``, ... padded to ``size``; returns their offsets."""
    return await log.append(topic, [new(str(number).ljust(size)) for number in range(count)])


async def read_all(log: Log, topic: str, page: int = 100) -> list[Record]:
    """Every retained record, page by page, as a subscriber reads."""
    start, found = (await log.bounds(topic)).first, list[Record]()
    while records := await log.read(topic, start, max_records=page):
        found += records
        start = records[-1].offset + 1
    return found


def texts(records: Sequence[Record]) -> list[str]:
    """The payloads, without padding."""
    return [record.payload.decode().rstrip() for record in records]
