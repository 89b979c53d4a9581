"""The log's server is killed and restarted."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TypeVar

from callboard.backends.log import Capability, Log
from callboard.errors import LogUnavailable
from callboard.messages.record import Record
from callboard.testing.conformance.log.harness import SOON_S, LogHarness, fill, new, opened_twice, read_all, texts
from callboard.testing.conformance.verdict import given

T = TypeVar("T")

_RETRY_S = 0.05


async def check_a_restart_loses_nothing(harness: LogHarness) -> None:
    """Reader and writer continue with the same handles; every error on the way says that a retry may help."""
    restart = given(harness.restart, "RESTART")
    expected = [str(number) for number in range(100)]
    async with opened_twice(harness) as (writer, reader):
        await fill(writer, harness.topic, 50)
        identity, first = await writer.identity(harness.topic), (await writer.bounds(harness.topic)).first
        follower = asyncio.ensure_future(_follow(reader, harness.topic, first, expected[-1]))
        restarting = asyncio.ensure_future(restart())
        for number in range(50, 100):
            await _persistently(partial(writer.append, harness.topic, [new(str(number), key=str(number))]))
        await restarting
        seen = await follower
        # Without keys, an append whose answer was lost in the crash may be there twice.
        assert (seen if Capability.KEYS in reader.capabilities else list(dict.fromkeys(seen))) == expected
        assert texts(await _persistently(lambda: read_all(reader, harness.topic))) == seen
        assert await writer.identity(harness.topic) == identity


async def _follow(log: Log, topic: str, start: int, last: str) -> list[str]:
    """The records up to one with the payload ``last``, one by one."""

    async def step() -> list[Record]:
        await log.wait(topic, start, SOON_S)
        return await log.read(topic, start, max_records=1)

    found: list[str] = []
    while last not in found:
        for record in await _persistently(step):
            found += texts([record])
            start = record.offset + 1
    return found


async def _persistently(call: Callable[[], Awaitable[T]]) -> T:
    """The result of a call that is retried until the log can be reached."""
    while True:
        try:
            return await call()
        except LogUnavailable:
            await asyncio.sleep(_RETRY_S)
