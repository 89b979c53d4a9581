"""Offsets outside of the log raise an error: a reader never jumps silently."""

from callboard.backends.log import Capability, Log, Retention
from callboard.errors import OffsetOutOfRange
from callboard.testing.conformance.log.harness import LogHarness, fill, opened
from callboard.testing.conformance.verdict import raises


async def check_a_read_beyond_the_end_is_out_of_range(harness: LogHarness) -> None:
    """Such an offset comes from another log."""
    async with opened(harness) as log:
        for count in (0, 3):
            await fill(log, harness.topic, count)
            end = (await log.bounds(harness.topic)).end
            for start in (end + 1, end + 1000):
                await _expect_out_of_range(log, harness.topic, start)


async def check_a_read_below_the_first_is_out_of_range(harness: LogHarness) -> None:
    """Trimmed records are not skipped silently, whether others are left or not."""
    async with opened(harness, Capability.TRIM) as log:
        offsets = await fill(log, harness.topic, 10)
        for keep in (5, 10):
            await log.read(harness.topic, offsets[0] if keep == 5 else offsets[5])
            first = await log.trim(harness.topic, Retention(below_offset=offsets[0] + keep))
            for start in (first - 1, offsets[0]):
                await _expect_out_of_range(log, harness.topic, start)


async def check_the_range_itself_is_readable(harness: LogHarness) -> None:
    """From the first up to and including the end."""
    async with opened(harness) as log:
        await fill(log, harness.topic, 4)
        first, end = await log.bounds(harness.topic)
        for start in range(first, end + 1):
            await log.read(harness.topic, start)


async def _expect_out_of_range(log: Log, topic: str, start: int) -> None:
    with raises(OffsetOutOfRange) as caught:
        await log.read(topic, start)
    error = caught[0]
    assert isinstance(error, OffsetOutOfRange)
    assert (error.topic, error.offset) == (topic, start)
    assert (error.first, error.end) == await log.bounds(topic)
