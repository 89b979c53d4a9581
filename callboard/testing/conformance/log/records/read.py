"""Reading."""

from callboard.testing.conformance.log.harness import LogHarness, fill, new, opened, read_all, texts


async def check_payloads_come_back_byte_for_byte(harness: LogHarness) -> None:
    """Any bytes, including none."""
    payloads = [bytes(range(256)), b"", b"\0", "Grüße".encode()]
    async with opened(harness) as log:
        await log.append(harness.topic, [new(payload) for payload in payloads])
        assert [record.payload for record in await read_all(log, harness.topic)] == payloads


async def check_a_read_begins_at_its_start(harness: LogHarness) -> None:
    """The record at the start comes first."""
    async with opened(harness) as log:
        offsets = await fill(log, harness.topic, 10)
        for number, offset in enumerate(offsets):
            assert texts(await log.read(harness.topic, offset, max_records=1)) == [str(number)]
        assert texts(await log.read(harness.topic, offsets[7])) == ["7", "8", "9"]


async def check_a_read_returns_at_most_the_records_asked_for(harness: LogHarness) -> None:
    """The oldest of them."""
    async with opened(harness) as log:
        offsets = await fill(log, harness.topic, 10)
        assert texts(await log.read(harness.topic, offsets[0], max_records=4)) == ["0", "1", "2", "3"]


async def check_a_read_is_bounded_by_bytes(harness: LogHarness) -> None:
    """It stops before the record that would exceed the bound."""
    async with opened(harness) as log:
        offsets = await fill(log, harness.topic, 10, size=1000)
        found = await log.read(harness.topic, offsets[0], max_bytes=3500)
        assert 1 <= len(found) <= 3


async def check_a_read_returns_one_record_however_large(harness: LogHarness) -> None:
    """Otherwise a reader would never get past it."""
    async with opened(harness) as log:
        offsets = await fill(log, harness.topic, 2, size=100_000)
        assert texts(await log.read(harness.topic, offsets[0], max_bytes=10)) == ["0"]


async def check_a_read_at_the_end_is_empty(harness: LogHarness) -> None:
    """Of an empty topic and of a filled one."""
    async with opened(harness) as log:
        assert await log.read(harness.topic, (await log.bounds(harness.topic)).end) == []
        await fill(log, harness.topic, 3)
        assert await log.read(harness.topic, (await log.bounds(harness.topic)).end) == []


async def check_records_carry_the_time_of_their_append(harness: LogHarness) -> None:
    """By the writer's clock, in nanoseconds since the epoch."""
    async with opened(harness) as log:
        await fill(log, harness.topic, 1)
        if harness.pass_time is not None:
            harness.pass_time(60)
        await fill(log, harness.topic, 1)
        older, newer = await read_all(log, harness.topic)
        assert older.time_ns > 0
        if harness.pass_time is not None:
            assert newer.time_ns - older.time_ns >= 60 * 10**9


async def check_reading_again_gives_the_same(harness: LogHarness) -> None:
    """Records do not change, and reading does not consume them."""
    async with opened(harness) as log:
        await fill(log, harness.topic, 50)
        assert await read_all(log, harness.topic) == await read_all(log, harness.topic, page=7)
