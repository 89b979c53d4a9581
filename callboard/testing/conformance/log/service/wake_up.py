"""Waiting for the next record."""

import asyncio

from callboard.backends.log import Capability, Retention
from callboard.testing.conformance.log.harness import NOT_YET_S, SOON_S, LogHarness, fill, new, opened, opened_twice

PROMPT_S = 30.0
"""Seconds that a busy machine stays below, but not a log that sits out its waits: it is no measure of latency."""


async def check_a_wait_for_what_is_there_returns_at_once(harness: LogHarness) -> None:
    """Also with a timeout of zero, and for every offset up to the newest."""
    async with opened(harness) as log:
        offsets = await fill(log, harness.topic, 3)
        for start in (0, *offsets):
            assert await log.wait(harness.topic, start, 0)


async def check_a_wait_ends_with_its_timeout(harness: LogHarness) -> None:
    """It returns False."""
    async with opened(harness) as log:
        end = (await log.bounds(harness.topic)).end
        assert not await log.wait(harness.topic, end, 0)
        assert not await log.wait(harness.topic, end, NOT_YET_S)


async def check_an_empty_topic_wakes_nobody(harness: LogHarness) -> None:
    """From any offset, also if it had records before."""
    async with opened(harness) as log:
        for start in (-1, 0, (await log.bounds(harness.topic)).first):
            assert not await log.wait(harness.topic, start, 0)
        if Capability.TRIM in log.capabilities:
            offsets = await fill(log, harness.topic, 3)
            await log.trim(harness.topic, Retention(below_offset=offsets[-1] + 1))
            for start in (-1, 0, *offsets):
                assert not await log.wait(harness.topic, start, 0)


async def check_an_append_wakes_everyone(harness: LogHarness) -> None:
    """In every process; after the wake-up the record can be read."""
    async with opened_twice(harness) as (writer, reader):
        end = (await reader.bounds(harness.topic)).end
        for _ in range(5):
            waits = [asyncio.ensure_future(reader.wait(harness.topic, end, SOON_S)) for _ in range(20)]
            await asyncio.sleep(NOT_YET_S)
            assert not any(wait.done() for wait in waits)
            (offset,) = await fill(writer, harness.topic, 1)
            assert await asyncio.gather(*waits) == [True] * 20
            assert [record.offset for record in await reader.read(harness.topic, end)] == [offset]
            end = offset + 1


async def check_a_wake_up_is_prompt(harness: LogHarness) -> None:
    """An append ends the wait, one wake-up after another; no wait lasts until its timeout."""
    async with opened_twice(harness) as (writer, reader):
        start = (await reader.bounds(harness.topic)).end
        for number in range(10):
            waiting = asyncio.ensure_future(reader.wait(harness.topic, start, 10 * PROMPT_S))
            await asyncio.sleep(0)
            (offset,) = await writer.append(harness.topic, [new(str(number))])
            assert await asyncio.wait_for(waiting, PROMPT_S)
            start = offset + 1


async def check_cancelling_a_wait_leaves_the_others_waiting(harness: LogHarness) -> None:
    """Even if many wait for the same offset."""
    async with opened(harness) as log:
        end = (await log.bounds(harness.topic)).end
        waits = [asyncio.ensure_future(log.wait(harness.topic, end, SOON_S)) for _ in range(10)]
        await asyncio.sleep(NOT_YET_S)
        for wait in waits[::2]:
            wait.cancel()
        await asyncio.sleep(NOT_YET_S)
        await fill(log, harness.topic, 1)
        assert await asyncio.gather(*waits[1::2]) == [True] * 5


async def check_a_wait_is_for_its_own_offset(harness: LogHarness) -> None:
    """A record below it does not end it."""
    async with opened(harness) as log:
        offsets = await fill(log, harness.topic, 1)
        wait = asyncio.ensure_future(log.wait(harness.topic, offsets[0] + 3, SOON_S))
        await fill(log, harness.topic, 1)
        await asyncio.sleep(NOT_YET_S)
        assert not wait.done()
        await fill(log, harness.topic, 5)
        assert await wait


async def check_a_short_wait_beside_a_long_one_ends_in_time(harness: LogHarness) -> None:
    """Every waiter has its own timeout, and its own start."""
    async with opened(harness) as log:
        end = (await log.bounds(harness.topic)).end
        long = asyncio.ensure_future(log.wait(harness.topic, end, SOON_S))
        await asyncio.sleep(0)
        assert not await log.wait(harness.topic, end, NOT_YET_S)
        assert not long.done()
        await fill(log, harness.topic, 1)
        assert await long
