"""Records are found from the end backwards and from the start, by any of the filters, and none is hidden."""

import asyncio
import re
from collections.abc import Awaitable, Callable

import pytest

from callboard.backends.log import Retention
from callboard.backends.logs.memory import MemoryLog
from callboard.board.read.log import log_search
from callboard.board.read.log.log_search import Found, RecordFilter, newest, oldest
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


def offsets(found: Found) -> list[int]:
    return [record.offset for record in found.records]


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
def test_a_filter_finds_the_same_from_both_ends(name, window, monkeypatch):
    monkeypatch.setattr(log_search, "WINDOW_OFFSETS", window)
    wanted, is_wanted = CASES[name]
    expected = [number for number in range(1, 51) if is_wanted(number)]

    async def scenario(log: MemoryLog) -> None:
        assert offsets(await newest(log, TOPIC, wanted, 1000)) == expected
        assert offsets(await newest(log, TOPIC, wanted, 3)) == expected[-3:]
        assert offsets(await newest(log, TOPIC, wanted, 3, before=25)) == [each for each in expected if each < 25][-3:]
        assert offsets(await oldest(log, TOPIC, wanted, 3, 1)) == expected[:3]

    on_log(scenario)


def test_the_newest_records_cost_no_more_on_a_longer_log():
    async def scenario(log: MemoryLog) -> None:
        assert (await newest(log, TOPIC, RecordFilter(), 20)).looked_at <= log_search.WINDOW_OFFSETS

    on_log(scenario, count=1200)


def test_a_search_in_vain_stops_at_its_bound_and_says_where_to_go_on(monkeypatch):
    monkeypatch.setattr(log_search, "SCAN_MAX", 20)
    monkeypatch.setattr(log_search, "WINDOW_OFFSETS", 5)
    wanted = RecordFilter(pattern=re.compile("p-[27]$"))

    async def scenario(log: MemoryLog) -> None:
        first = await newest(log, TOPIC, wanted, 5)
        assert (offsets(first), first.looked_at, first.more_from) == ([], 20, 31)
        second = await newest(log, TOPIC, wanted, 5, before=first.more_from)
        third = await newest(log, TOPIC, wanted, 5, before=second.more_from)
        assert (offsets(third), third.more_from) == ([2, 7], -1)
        forward = await oldest(log, TOPIC, wanted, 5, 1)
        assert (offsets(forward), forward.more_from) == ([2, 7], 21)

    on_log(scenario)


@pytest.mark.proves("W28", "F102")
@pytest.mark.parametrize("wanted", [RecordFilter(), RecordFilter(path="/nowhere"), RecordFilter(publisher="site")])
def test_a_record_that_cannot_be_read_is_shown_with_the_reason(wanted):
    async def scenario(log: MemoryLog) -> None:
        headers = (("type", "PackageMessage"), ("version", "1.0"), ("publisher", "site"))
        [offset] = await log.append(TOPIC, [NewRecord(payload=b"\xff", headers=headers)])
        last = (await newest(log, TOPIC, wanted, 1)).records[-1]
        assert last.offset == offset
        assert "cannot be decoded" in last.problem
        assert offset not in offsets(await newest(log, TOPIC, RecordFilter(publisher="news"), 1000))

    on_log(scenario)


def test_a_log_that_was_trimmed_is_searched_from_where_it_begins():
    async def scenario(log: MemoryLog) -> None:
        await log.trim(TOPIC, Retention(below_offset=45))
        assert offsets(await newest(log, TOPIC, RecordFilter(), 1000)) == list(range(45, 51))
        assert offsets(await newest(log, TOPIC, RecordFilter(since_ns=START_NS), 1000, before=47)) == [45, 46]
        assert offsets(await newest(log, TOPIC, RecordFilter(), 1000, before=3)) == []

    on_log(scenario)
