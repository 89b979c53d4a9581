"""Records dated ahead, by a forger or by a clock that was wrong for a while, do not block retention by age."""

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path

import pytest

from callboard.backends.log import Log, Retention
from callboard.backends.logs.memory import MemoryLog
from callboard.backends.logs.sqlite import SqliteLog
from callboard.board.care.retention_gate import trim
from callboard.board.care.trimming import preview
from callboard.messages.distribution.topic_messages import PackageStatusMessage, Status
from callboard.messages.headers import new_record
from callboard.messages.record import NewRecord
from callboard.messages.topics import Topics

DAY_NS = 86_400 * 10**9
DAYS = 20
NOON_NS = 20_000 * DAY_NS
IN_2099_NS = 4_080_000_000 * 10**9
TOPICS = Topics.with_prefix()
ALL = (TOPICS.package, TOPICS.status, TOPICS.discovery, TOPICS.command, TOPICS.event)
A_WEEK = Retention(older_than_s=7 * 86_400)

Scenario = Callable[["Board"], Coroutine[None, None, None]]
Run = Callable[[Scenario], None]


class Board:
    """A log, the clock of the writer, and the right clock."""

    def __init__(self, open_log: Callable[[Callable[[], int]], Log]) -> None:
        self.now_ns, self.ahead_ns = NOON_NS, 0
        self.log = open_log(lambda: self.now_ns + self.ahead_ns)

    async def publish(self, dated_ns: int | None = None) -> int:
        """A record on every topic, as of now or of another time; its offset on that of packages."""
        self.ahead_ns = 0 if dated_ns is None else dated_ns - self.now_ns
        offset = (await self.log.bounds(TOPICS.package)).end
        status = PackageStatusMessage(
            subscriber_instance="i", subscriber="edge", publisher="site", offset=offset, status=Status.SKIPPED
        )
        for topic in ALL:
            said = new_record(status, record_id=f"s-{offset}", time_ns=self.now_ns, producer="test")
            await self.log.append(topic, [said if topic == TOPICS.status else NewRecord(payload=b"any")])
        self.ahead_ns = 0
        return offset

    async def trimmed(self, retention: Retention = A_WEEK, keep_from: int | None = None) -> dict[str, int]:
        kept = {} if keep_from is None else {TOPICS.package: keep_from}
        return await trim(self.log, TOPICS, retention, kept, self.now_ns)


@pytest.fixture(params=["memory", "sqlite"])
def on_board(request: pytest.FixtureRequest, tmp_path: Path) -> Run:
    async def scenario_on(work: Scenario) -> None:
        board = Board(MemoryLog if request.param == "memory" else lambda clock: SqliteLog(tmp_path / "log", clock))
        try:
            for topic in ALL:
                await board.log.ensure(topic)
            await work(board)
        finally:
            await board.log.close()

    return lambda work: asyncio.run(scenario_on(work))


def test_one_forged_record_of_2099_does_not_protect_older_ones_from_a_trim(on_board: Run) -> None:
    async def scenario(board: Board) -> None:
        for day in range(DAYS):
            await board.publish(IN_2099_NS if day == 5 else None)
            board.now_ns += DAY_NS
        told = await preview(board.log, TOPICS.package, A_WEEK, board.now_ns)
        first = await board.trimmed()
        assert set(first.values()) == {DAYS - 6}, "what is younger than a week is all that stays, on every topic"
        assert told.first == DAYS - 6

    on_board(scenario)


def test_records_appended_with_a_clock_a_day_ahead_are_trimmed_with_their_neighbours(on_board: Run) -> None:
    async def scenario(board: Board) -> None:
        for number in range(24):
            await board.publish(board.now_ns + DAY_NS if 4 <= number < 8 else None)
            board.now_ns += DAY_NS // 24
        board.now_ns += DAY_NS // 48
        first = await board.trimmed(Retention(older_than_s=6 * 3600))
        assert first[TOPICS.package] == first[TOPICS.event] == 20
        assert first[TOPICS.status] == 19, "clocks may differ by an hour"

    on_board(scenario)


def test_records_of_2099_at_the_end_stay_until_an_old_record_follows_them(on_board: Run) -> None:
    async def scenario(board: Board) -> None:
        await board.publish()
        forged = await board.publish(IN_2099_NS)
        await board.publish(IN_2099_NS)
        board.now_ns += 30 * DAY_NS
        assert (await board.trimmed())[TOPICS.package] == forged
        last = await board.publish()
        board.now_ns += 30 * DAY_NS
        assert (await board.trimmed())[TOPICS.package] == last + 1

    on_board(scenario)


def test_a_record_of_1970_does_not_take_younger_ones_with_it(on_board: Run) -> None:
    async def scenario(board: Board) -> None:
        young = await board.publish()
        await board.publish(1)
        await board.publish(IN_2099_NS)
        await board.publish(1)
        assert set((await board.trimmed()).values()) == {young}

    on_board(scenario)


def test_a_kept_package_of_2099_also_keeps_the_statuses_of_the_packages_after_it(on_board: Run) -> None:
    async def scenario(board: Board) -> None:
        for day in range(DAYS):
            await board.publish(IN_2099_NS if day == 4 else None)
            board.now_ns += DAY_NS
        first = await board.trimmed(keep_from=5)
        assert first[TOPICS.package] == 5
        assert first[TOPICS.status] <= 6

    on_board(scenario)
