"""Order and offsets."""

from itertools import pairwise

from callboard.testing.conformance.log.harness import LogHarness, fill, new, opened, read_all, texts


async def check_records_are_read_in_the_order_of_their_appends(harness: LogHarness) -> None:
    """Within a batch and from one batch to the next."""
    async with opened(harness) as log:
        for batch in range(10):
            await log.append(harness.topic, [new(str(batch * 3 + number)) for number in range(3)])
        assert texts(await read_all(log, harness.topic, page=4)) == [str(number) for number in range(30)]


async def check_offsets_strictly_increase(harness: LogHarness) -> None:
    """Over batches of any size."""
    async with opened(harness) as log:
        offsets = [offset for size in (1, 5, 1, 20, 2) for offset in await fill(log, harness.topic, size)]
        assert all(one < two for one, two in pairwise(offsets))


async def check_paging_sees_every_record_once(harness: LogHarness) -> None:
    """A reader that resumes at the last offset plus one misses nothing and repeats nothing."""
    async with opened(harness) as log:
        offsets = await fill(log, harness.topic, 57)
        for page in (1, 2, 10, 57, 100):
            assert [record.offset for record in await read_all(log, harness.topic, page)] == offsets


async def check_topics_are_independent(harness: LogHarness) -> None:
    """An append to one is not seen in another, and does not move its bounds."""
    other = f"{harness.topic}-other"
    async with opened(harness) as log:
        await log.ensure(other)
        before = await log.bounds(other)
        await fill(log, harness.topic, 5)
        assert await log.bounds(other) == before
        assert await read_all(log, other) == []
