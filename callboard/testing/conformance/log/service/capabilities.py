"""Durability and sharing, declared or not; other capabilities are checked where they belong."""

from callboard.backends.log import Capability
from callboard.errors import CallboardError
from callboard.testing.conformance.log.harness import LogHarness, fill, new, opened, read_all, texts


async def check_a_durable_log_keeps_everything(harness: LogHarness) -> None:
    """After reopening, records, bounds and keys are there, and new offsets are above them."""
    async with opened(harness, Capability.DURABLE) as log:
        keyed = Capability.KEYS in log.capabilities
        await log.append(harness.topic, [new("0", key="k" if keyed else "", headers=(("a", "b"),))])
        await fill(log, harness.topic, 3)
        before, bounds = await read_all(log, harness.topic), await log.bounds(harness.topic)
    async with opened(harness) as log:
        assert await read_all(log, harness.topic) == before
        assert await log.bounds(harness.topic) == bounds
        if keyed:
            assert await log.append(harness.topic, [new("again", key="k")]) == [before[0].offset]
        assert min(await fill(log, harness.topic, 1)) >= bounds.end


async def check_a_shared_log_is_one_log(harness: LogHarness) -> None:
    """Handles that are open at once append in turns to one sequence."""
    async with opened(harness, Capability.SHARED) as one, opened(harness) as other:
        offsets: list[int] = []
        for number in range(10):
            log = (one, other)[number % 2]
            offsets += await log.append(harness.topic, [new(str(number))])
        assert offsets == sorted(set(offsets))
        expected = [str(number) for number in range(10)]
        assert texts(await read_all(one, harness.topic)) == expected
        assert texts(await read_all(other, harness.topic)) == expected


async def check_a_log_that_is_not_durable_does_not_pretend(harness: LogHarness) -> None:
    """Reopened under the same identity it still has its records: a log that lost them is another log."""
    async with opened(harness, without=Capability.DURABLE) as log:
        await fill(log, harness.topic, 3)
        identity, before = await log.identity(harness.topic), await read_all(log, harness.topic)
    async with opened(harness) as log:
        assert await log.identity(harness.topic) != identity or await read_all(log, harness.topic) == before


async def check_a_log_that_is_not_shared_does_not_pretend(harness: LogHarness) -> None:
    """A second handle is refused, or is visibly another log: never two logs under one identity."""
    async with opened(harness, without=Capability.SHARED) as one:
        await fill(one, harness.topic, 3)
        try:
            async with opened(harness) as other:
                if await other.identity(harness.topic) == await one.identity(harness.topic):
                    assert await read_all(other, harness.topic) == await read_all(one, harness.topic)
        except CallboardError:
            return
