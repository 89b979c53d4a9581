"""Records are found from the end backwards and from the start, by any of the filters, and none is hidden."""

import asyncio
import re
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from callboard.backends.log import Retention
from callboard.backends.logs import walk
from callboard.backends.logs.memory import MemoryLog
from callboard.board.page import Page
from callboard.board.read.log import log_search
from callboard.board.read.log.log_records import LoggedRecord
from callboard.board.read.log.log_search import RecordFilter, listed
from callboard.errors import OffsetOutOfRange
from callboard.messages.distribution.topic_messages import Kind, PackageMessage
from callboard.messages.headers import new_record
from callboard.messages.record import NewRecord

MINUTE_NS = 60 * 10**9
START_NS = 10**18
TOPIC = "callboard.package"


def package(number: int) -> PackageMessage:
    """Every third deletes, every fifth is of another publisher, every seventh on behalf of ada."""
    return PackageMessage(
        publisher_instance="i",
        publisher="news" if number % 5 == 0 else "site",
        package_id=f"p-{number}",
        kind=Kind.DELETE if number % 3 == 0 else Kind.ADD,
        paths=(f"/blog/{number}/a.html", "/index.html"),
        user="ada" if number % 7 == 0 else "",
    )


class CountingReads:
    """The log, with the number of records read from it."""

    def __init__(self, log: MemoryLog) -> None:
        self.log, self.records = log, 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.log, name)

    async def read(self, *args: Any) -> Any:
        found = await self.log.read(*args)
        self.records += len(found)
        return found


def on_log(scenario: Callable[[MemoryLog], Awaitable[None]], count: int = 50) -> None:
    """One package a minute, at the offsets 1 to ``count``."""

    async def body() -> None:
        now_ns = START_NS
        log = MemoryLog(clock=lambda: now_ns)
        await log.ensure(TOPIC)
        for number in range(1, count + 1):
            record = new_record(package(number), record_id=f"r-{number}", time_ns=now_ns, producer="test", cause="c")
            await log.append(TOPIC, [record])
            now_ns += MINUTE_NS
        await scenario(log)
        await log.close()

    asyncio.run(body())


async def page(log: MemoryLog, wanted: RecordFilter, limit: int, **where: Any) -> Page[LoggedRecord]:
    return await listed(log, TOPIC, wanted, limit, START_NS, **where)


def offsets(found: Page[LoggedRecord]) -> list[int]:
    return [record.offset for record in found.items]


CASES = {
    "all": (RecordFilter(), lambda _: True),
    "publisher": (RecordFilter(publisher="news"), lambda number: number % 5 == 0),
    "kind": (RecordFilter(kind="delete"), lambda number: number % 3 == 0),
    "user": (RecordFilter(user="ada"), lambda number: number % 7 == 0),
    "path": (RecordFilter(path="/blog/1*"), lambda number: str(number).startswith("1")),
    "below": (RecordFilter(path="/blog/12/"), lambda number: number == 12),
    "time": (
        RecordFilter(since_ns=START_NS + 10 * MINUTE_NS, until_ns=START_NS + 20 * MINUTE_NS),
        lambda number: 11 <= number <= 20,
    ),
    "pattern": (RecordFilter(pattern=re.compile(r"p-4\d")), lambda number: number >= 40 and number < 50),
    "record id": (RecordFilter(pattern=re.compile("^r-7$")), lambda number: number == 7),
    "several": (RecordFilter(publisher="news", kind="add", user="ada"), lambda number: number == 35),
}


@pytest.mark.proves("F102", "W28")
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("window", [1, 7, 500])
def test_a_filter_finds_the_same_records_from_both_ends(name, window, monkeypatch):
    monkeypatch.setattr(log_search, "WINDOW_OFFSETS", window)
    monkeypatch.setattr(walk, "WINDOW_OFFSETS", window)
    wanted, is_wanted = CASES[name]
    expected = [number for number in range(1, 51) if is_wanted(number)]

    async def scenario(log: MemoryLog) -> None:
        assert offsets(await page(log, wanted, 1000)) == expected
        assert offsets(await page(log, wanted, 3)) == expected[-3:]
        assert offsets(await page(log, wanted, 3, start=1)) == expected[:3]

    on_log(scenario)


def test_reading_the_newest_records_costs_no_more_on_a_longer_log():
    async def scenario(log: MemoryLog) -> None:
        reads = CountingReads(log)
        await page(reads, RecordFilter(), 20)
        assert reads.records <= log_search.WINDOW_OFFSETS

    on_log(scenario, count=1200)


def test_a_search_without_result_stops_at_its_bound_and_its_cursor_continues_it():
    wanted = RecordFilter(pattern=re.compile("p-[27]$"))

    async def scenario(log: MemoryLog) -> None:
        first = await page(log, wanted, 5, scan=20)
        assert (offsets(first), bool(first.cursor), first.complete) == ([], True, True)
        second = await page(log, wanted, 5, scan=20, cursor=first.cursor)
        third = await page(log, wanted, 5, scan=20, cursor=second.cursor)
        assert (offsets(third), third.cursor) == ([2, 7], "")
        forward = await page(log, wanted, 5, scan=20, start=1)
        assert (offsets(forward), bool(forward.cursor)) == ([2, 7], True)

    on_log(scenario)


@pytest.mark.proves("W28", "F102")
@pytest.mark.parametrize("wanted", [RecordFilter(), RecordFilter(path="/nowhere"), RecordFilter(publisher="site")])
def test_a_record_that_cannot_be_read_is_shown_with_the_reason(wanted):
    async def scenario(log: MemoryLog) -> None:
        headers = (("type", "PackageMessage"), ("version", "1.0"), ("publisher", "site"))
        [offset] = await log.append(TOPIC, [NewRecord(payload=b"\xff", headers=headers)])
        last = (await page(log, wanted, 1)).items[-1]
        assert last.offset == offset
        assert "cannot be decoded" in last.problem
        assert offset not in offsets(await page(log, RecordFilter(publisher="news"), 1000))

    on_log(scenario)


def test_a_log_that_was_trimmed_is_searched_from_where_it_begins():
    async def scenario(log: MemoryLog) -> None:
        await log.trim(TOPIC, Retention(below_offset=45))
        assert offsets(await page(log, RecordFilter(), 1000)) == list(range(45, 51))
        assert offsets(await page(log, RecordFilter(since_ns=START_NS), 1000)) == list(range(45, 51))
        with pytest.raises(OffsetOutOfRange):
            await page(log, RecordFilter(), 1000, start=44)

    on_log(scenario)
