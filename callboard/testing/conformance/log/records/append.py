"""Appending."""

import asyncio

from callboard.backends.log import RECORD_BYTES_MAX
from callboard.errors import RecordTooLarge
from callboard.testing.conformance.log.harness import (
    LogHarness,
    fill,
    new,
    opened,
    opened_twice,
    read_all,
    texts,
)
from callboard.testing.conformance.verdict import raises


async def check_an_append_answers_with_one_offset_for_each_record(harness: LogHarness) -> None:
    """The offsets come in the order of the records and are those under which they are read."""
    async with opened(harness) as log:
        offsets = await fill(log, harness.topic, 3)
        assert [record.offset for record in await read_all(log, harness.topic)] == offsets


async def check_an_append_of_nothing_writes_nothing(harness: LogHarness) -> None:
    """An empty batch is answered with no offsets."""
    async with opened(harness) as log:
        before = await log.bounds(harness.topic)
        assert await log.append(harness.topic, []) == []
        assert await log.bounds(harness.topic) == before


async def check_an_acknowledged_record_can_be_read(harness: LogHarness) -> None:
    """Once the append has returned, every handle reads the record."""
    async with opened_twice(harness) as (writer, reader):
        for number in range(20):
            (offset,) = await writer.append(harness.topic, [new(str(number))])
            assert texts(await reader.read(harness.topic, offset)) == [str(number)]


async def check_an_append_is_all_or_none(harness: LogHarness) -> None:
    """If one record is refused, none of the batch is written."""
    async with opened(harness) as log:
        with raises(RecordTooLarge):
            await log.append(harness.topic, [new("good"), new(bytes(RECORD_BYTES_MAX + 1)), new("good")])
        assert await read_all(log, harness.topic) == []


async def check_a_cancelled_append_harms_nobody(harness: LogHarness) -> None:
    """Whether its own records are there is unknown; those of others are, once, in order."""
    async with opened(harness) as log:
        tasks = [asyncio.ensure_future(log.append(harness.topic, [new(str(n))])) for n in range(20)]
        await asyncio.sleep(0)
        for task in tasks[::2]:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        found = texts(await read_all(log, harness.topic))
        assert [text for text in found if int(text) % 2] == [str(number) for number in range(1, 20, 2)]
        assert len(set(found)) == len(found)
