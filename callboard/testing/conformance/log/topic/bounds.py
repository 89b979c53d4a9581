"""The retained range."""

from callboard.testing.conformance.log.harness import LogHarness, fill, opened


async def check_an_empty_topic_has_an_empty_range(harness: LogHarness) -> None:
    """First and end are equal."""
    async with opened(harness) as log:
        first, end = await log.bounds(harness.topic)
        assert first == end


async def check_bounds_enclose_the_records(harness: LogHarness) -> None:
    """First is the oldest record's offset; the end is above the newest one's."""
    async with opened(harness) as log:
        offsets = await fill(log, harness.topic, 5)
        first, end = await log.bounds(harness.topic)
        assert first == offsets[0]
        assert end > offsets[-1]


async def check_the_end_is_stable(harness: LogHarness) -> None:
    """No record appears below an end that was once returned."""
    async with opened(harness) as log:
        for _ in range(10):
            end = (await log.bounds(harness.topic)).end
            assert min(await fill(log, harness.topic, 2)) >= end
