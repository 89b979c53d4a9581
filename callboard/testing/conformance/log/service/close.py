"""Closing."""

import asyncio

from callboard.backends.log import Capability, Retention
from callboard.errors import LogUnavailable
from callboard.testing.conformance.log.harness import (
    NOT_YET_S,
    SOON_S,
    LogHarness,
    fill,
    new,
    opened,
    read_all,
    texts,
)
from callboard.testing.conformance.verdict import raises


async def check_closing_twice_is_fine(harness: LogHarness) -> None:
    """So is closing a log that was never used."""
    unused = await harness.open()
    await unused.close()
    await unused.close()


async def check_pending_waits_return_false(harness: LogHarness) -> None:
    """No caller hangs on a closed log."""
    async with opened(harness) as log:
        end = (await log.bounds(harness.topic)).end
        waits = [asyncio.ensure_future(log.wait(harness.topic, end, SOON_S)) for _ in range(5)]
        await asyncio.sleep(NOT_YET_S)
        await log.close()
        assert await asyncio.wait_for(asyncio.gather(*waits), SOON_S / 2) == [False] * 5


async def check_a_closed_log_says_so(harness: LogHarness) -> None:
    """Every call raises ``LogUnavailable``."""
    async with opened(harness) as log:
        await fill(log, harness.topic, 1)
        await log.close()
        for call in (
            lambda: log.append(harness.topic, [new("x")]),
            lambda: log.read(harness.topic, 1),
            lambda: log.wait(harness.topic, 1, 0),
            lambda: log.bounds(harness.topic),
            lambda: log.ensure(harness.topic),
        ):
            with raises(LogUnavailable):
                await call()


async def check_closing_beside_a_trim_hangs_nobody(harness: LogHarness) -> None:
    """The trim completes, or reports that the log was closed."""
    async with opened(harness, Capability.TRIM) as log:
        offsets = await fill(log, harness.topic, 3000)
        trim = asyncio.ensure_future(log.trim(harness.topic, Retention(below_offset=offsets[-1])))
        await asyncio.sleep(0.01)
        await log.close()
        (outcome,) = await asyncio.wait_for(asyncio.gather(trim, return_exceptions=True), SOON_S)
        assert outcome == offsets[-1] or isinstance(outcome, LogUnavailable)


async def check_pending_appends_are_finished(harness: LogHarness) -> None:
    """They get an answer, and what was acknowledged is there when a durable log is reopened."""
    async with opened(harness) as log:
        durable = Capability.DURABLE in log.capabilities
        await fill(log, harness.topic, 1)
        pending = [asyncio.ensure_future(log.append(harness.topic, [new(str(n))])) for n in range(1, 20)]
        await asyncio.sleep(0)
        await log.close()
        offsets = await asyncio.gather(*pending)
        assert len({offset for (offset,) in offsets}) == 19
    if durable:
        async with opened(harness) as log:
            assert texts(await read_all(log, harness.topic)) == [str(number) for number in range(20)]
