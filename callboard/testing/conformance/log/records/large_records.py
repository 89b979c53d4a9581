"""Large records."""

from callboard.backends.log import RECORD_BYTES_MAX
from callboard.errors import RecordTooLarge
from callboard.testing.conformance.log.harness import LogHarness, new, opened, read_all
from callboard.testing.conformance.verdict import raises


async def check_a_megabyte_is_taken(harness: LogHarness) -> None:
    """Every log takes records of at least 1 MB."""
    payload = bytes(range(250)) * 4000
    async with opened(harness) as log:
        await log.append(harness.topic, [new(payload), new(payload)])
        assert [record.payload for record in await read_all(log, harness.topic)] == [payload] * 2


async def check_a_record_above_the_limit_is_refused(harness: LogHarness) -> None:
    """Payload and headers count; nothing is written, and the log stays usable."""
    wide = (("wide", "x" * RECORD_BYTES_MAX),)
    async with opened(harness) as log:
        for record in (new(bytes(RECORD_BYTES_MAX + 1)), new("x", headers=wide)):
            with raises(RecordTooLarge):
                await log.append(harness.topic, [record])
        assert await read_all(log, harness.topic) == []
        await log.append(harness.topic, [new("small")])
        assert len(await read_all(log, harness.topic)) == 1


async def check_a_read_of_large_records_stays_bounded(harness: LogHarness) -> None:
    """A default read does not load a whole log of large records into memory."""
    async with opened(harness) as log:
        for _ in range(8):
            (offset,) = await log.append(harness.topic, [new(bytes(900_000))])
        first = (await log.bounds(harness.topic)).first
        assert len(await log.read(harness.topic, first)) <= 5
        assert len(await log.read(harness.topic, offset)) == 1
