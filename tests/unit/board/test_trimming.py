"""The preview of a retention equals what it removes."""

import asyncio

import pytest

from callboard.backends.log import Retention
from callboard.backends.logs.memory import MemoryLog
from callboard.board.care.trimming import preview
from callboard.messages.record import NewRecord

NOW_NS = 1_000_000_000_000


@pytest.mark.parametrize(
    "retention",
    [
        Retention(),
        Retention(below_offset=4),
        Retention(below_offset=99),
        Retention(older_than_s=5),
        Retention(older_than_s=0),
        Retention(above_bytes=250),
        Retention(above_bytes=0),
        Retention(below_offset=3, older_than_s=5, above_bytes=10_000),
    ],
)
def test_the_preview_equals_the_trim(retention):
    async def scenario() -> None:
        now_ns = NOW_NS
        log = MemoryLog(clock=lambda: now_ns)
        await log.ensure("topic")
        for _ in range(10):
            await log.append("topic", [NewRecord(payload=bytes(100))])
            now_ns += 10**9
        before = await log.bounds("topic")
        told = await preview(log, "topic", retention, now_ns)
        first = await log.trim("topic", retention)
        assert told.first == first
        assert told.records == len(range(before.first, first))
        assert told.length == 100 * told.records
        await log.close()

    asyncio.run(scenario())


@pytest.mark.parametrize("keep_from", [None, 3, 4, 5])
@pytest.mark.parametrize("ages_s", [(9, -86_400, 9, 1), (9, -86_400, -86_400, 9), (-86_400, 9, -86_400), (9, 1, 9)])
def test_the_preview_equals_the_trim_with_records_dated_ahead(ages_s, keep_from):
    async def scenario() -> None:
        times = iter([NOW_NS - age_s * 10**9 for age_s in ages_s])
        log = MemoryLog(clock=lambda: next(times, NOW_NS))
        await log.ensure("topic")
        for _ in ages_s:
            await log.append("topic", [NewRecord(payload=bytes(100))])
        retention = Retention(older_than_s=5, keep_from=keep_from)
        told = await preview(log, "topic", retention, NOW_NS)
        first = await log.trim("topic", retention)
        assert (told.first, told.records) == (first, first - 1)
        await log.close()

    asyncio.run(scenario())
