"""Many writers and many readers at once."""

import asyncio

from callboard.backends.log import Capability, Log, Retention
from callboard.errors import OffsetOutOfRange
from callboard.testing.conformance.log.harness import SOON_S, LogHarness, fill, new, opened_twice, read_all, texts


async def check_many_writers_lose_and_repeat_nothing(harness: LogHarness) -> None:
    """Each record is at the offset that its writer was given, in that writer's order."""
    given: dict[int, str] = {}

    async def write(log: Log, name: str) -> None:
        for number in range(10):
            batch = [f"{name} {number} {part}" for part in range(2)]
            offsets = await log.append(harness.topic, [new(text) for text in batch])
            given.update(zip(offsets, batch, strict=True))

    async with opened_twice(harness) as (one, other):
        await asyncio.gather(*(write((one, other)[number % 2], f"w{number}") for number in range(10)))
        found = await read_all(one, harness.topic)
        assert len(given) == 200
        assert {record.offset: text for record, text in zip(found, texts(found), strict=True)} == given
        for number in range(10):
            mine = [text for text in texts(found) if text.startswith(f"w{number} ")]
            assert mine == [f"w{number} {step} {part}" for step in range(10) for part in range(2)]


async def follow(log: Log, topic: str, start: int, count: int) -> list[str]:
    """The next ``count`` records, read and waited for as a subscriber does; fewer if they do not come."""
    found: list[str] = []
    while len(found) < count and await log.wait(topic, start, SOON_S):
        for record in await log.read(topic, start, max_records=7):
            found.append(record.payload.decode())
            start = record.offset + 1
    return found


async def check_many_followers_see_everything_once(harness: LogHarness) -> None:
    """During writes, in order, without holes, from any start."""
    async with opened_twice(harness) as (writer, reader):
        offsets = await fill(writer, harness.topic, 20)
        starts = [offsets[number % 20] for number in range(10)]
        followers = [
            asyncio.ensure_future(follow(reader, harness.topic, start, 70 - skipped))
            for skipped, start in enumerate(starts)
        ]
        for number in range(20, 70):
            await writer.append(harness.topic, [new(str(number))])
        for skipped, seen in enumerate(await asyncio.gather(*followers)):
            assert seen == [str(number) for number in range(skipped, 70)]


async def check_followers_beside_many_writers_miss_nothing(harness: LogHarness) -> None:
    """A record never appears below one that was already read, whichever append began first."""

    async def write(log: Log, name: int) -> None:
        for number in range(10):
            await log.append(harness.topic, [new(f"{name} {number}")])

    async with opened_twice(harness) as (one, other):
        start = (await one.bounds(harness.topic)).end
        followers = [asyncio.ensure_future(follow(log, harness.topic, start, 100)) for log in (one, other) * 3]
        await asyncio.gather(*(write((one, other)[name % 2], name) for name in range(10)))
        written = texts(await read_all(one, harness.topic))
        assert len(set(written)) == 100
        assert await asyncio.gather(*followers) == [written] * 6


async def check_readers_beside_a_trim_see_a_suffix_or_an_error(harness: LogHarness) -> None:
    """Never a hole: only the oldest records are missing, and the error says so."""
    async with opened_twice(harness, Capability.TRIM) as (one, other):
        offsets = await fill(one, harness.topic, 1500)
        trim = asyncio.ensure_future(one.trim(harness.topic, Retention(below_offset=offsets[1200])))
        reads = 0
        while not trim.done() or reads == 0:
            first = (await other.bounds(harness.topic)).first
            try:
                found = [record.offset for record in await other.read(harness.topic, first, max_records=50)]
            except OffsetOutOfRange as error:
                assert error.first > first  # noqa: PT017 - without pytest
            else:
                assert found == [offset for offset in offsets if offset >= first][: len(found)]
            reads += 1
            await asyncio.sleep(0)
        assert await trim == offsets[1200]
