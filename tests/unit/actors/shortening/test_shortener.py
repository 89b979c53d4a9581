"""Topics that grow by themselves are shortened by default, and keep what is still needed."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from callboard.actors.core.shortening import Shortened
from callboard.actors.core.shortening_limits import ShorteningLimits
from callboard.actors.worlds.shortening.last_announcements import LastAnnouncements
from callboard.actors.worlds.shortening.shortener import Shortener
from callboard.backends.log import Bounds, Log, Retention
from callboard.backends.logs.memory import MemoryLog
from callboard.backends.logs.sqlite import SqliteLog
from callboard.board.read.explaining import statuses_of
from callboard.errors import LogReplaced, LogUnavailable
from callboard.messages.distribution.topic_messages import (
    ArchivedMessage,
    ArchivedTopic,
    CommandMessage,
    DiscoveryMessage,
    ForgottenMessage,
    Kind,
    PackageMessage,
    PackageStatusMessage,
    PauseCommand,
    Status,
    SubscriberConfiguration,
)
from callboard.messages.entities.entity_messages import FoldAnnouncementMessage
from callboard.messages.event import Event
from callboard.messages.headers import new_record
from callboard.messages.record import NewRecord, Record
from callboard.messages.repeated import original_of, repeated
from callboard.messages.topics import Topics

TOPICS = Topics.with_prefix()
LIMITS = ShorteningLimits(records=20, slack=10, announced_s=50.0, told_s=50.0, pending_s=5000.0)
SECOND_NS = 10**9
START_NS = 1_700_000_000 * SECOND_NS


class Board:
    """A log whose clock advances by a second with every record."""

    def __init__(self) -> None:
        self.now_ns = START_NS
        self.log: Log = MemoryLog(clock=lambda: self.now_ns)
        self._sequence = 0

    async def append(self, topic: str, event: Event, producer: str = "test", record_id: str = "r") -> int:
        self.now_ns += SECOND_NS
        record = new_record(event, record_id=record_id, time_ns=self.now_ns, producer=producer)
        return (await self.log.append(topic, [record]))[0]

    async def announce(self, name: str, times: int = 1, golden: str = "", **fields: object) -> int:
        offset = -1
        configuration = SubscriberConfiguration(editable=False, max_retries=-1, golden=golden)
        message = DiscoveryMessage(subscriber_instance=f"{name}-1", subscriber=name, configuration=configuration)
        for _ in range(times):
            said = replace(message, **fields)
            offset = await self.append(TOPICS.discovery, said, f"{name}/{said.subscriber_instance}")
        return offset

    async def tell(self, name: str, package: int, status: Status) -> int:
        self._sequence += 1
        message = PackageStatusMessage(
            subscriber_instance=f"{name}-1", subscriber=name, publisher="site", offset=package, status=status,
            sequence=self._sequence, time_ns=self.now_ns,
        )  # fmt: skip
        return await self.append(TOPICS.status, message, f"{name}/{name}-1", f"{name}-1/{self._sequence}")

    async def package(self) -> int:
        package = PackageMessage(publisher_instance="i", publisher="site", package_id="p", kind=Kind.TEST)
        return await self.append(TOPICS.package, package)

    async def shorten(self, limits: ShorteningLimits = LIMITS) -> Shortened:
        return await Shortener(self.log).run(TOPICS, limits, self.now_ns)

    async def members(self) -> dict[str, tuple[int, int]]:
        """What a new reader finds: the position, and when it was announced."""
        roll = LastAnnouncements(TOPICS.discovery)
        await roll.catch_up(self.log, self.now_ns)
        return {name: (word.announcement.offset, word.heard.seen_ns) for name, word in roll.members.items()}

    async def records(self, topic: str) -> list[Record]:
        first, _ = await self.log.bounds(topic)
        return await self.log.read(topic, first)


@asynccontextmanager
async def opened(kind: str, folder: Path) -> AsyncIterator[Board]:
    board = Board()
    if kind == "sqlite":
        board.log = SqliteLog(folder, clock=lambda: board.now_ns)
    for topic in (TOPICS.package, TOPICS.status, TOPICS.discovery, TOPICS.command, TOPICS.event):
        await board.log.ensure(topic)
    yield board
    await board.log.close()


def on_board(scenario: Callable[[Board], Awaitable[None]], folder: Path = Path(), kind: str = "memory") -> None:
    async def run() -> None:
        async with opened(kind, folder) as board:
            await scenario(board)

    asyncio.run(run())


@pytest.mark.proves("W38")
@pytest.mark.parametrize("kind", ["memory", "sqlite"])
def test_the_discovery_topic_stays_short_and_loses_no_subscriber(kind: str, tmp_path: Path) -> None:
    async def scenario(board: Board) -> None:
        await board.announce("silent", offset=7)
        said_ns = board.now_ns
        for _ in range(20):
            await board.announce("live", 100, offset=9)
            await board.shorten()
            assert len(await board.records(TOPICS.discovery)) <= 170
            assert (await board.members()) == {"silent": (7, said_ns), "live": (9, board.now_ns)}

    on_board(scenario, tmp_path, kind)


def test_a_short_topic_is_left_alone() -> None:
    async def scenario(board: Board) -> None:
        await board.announce("edge", 25)
        assert await board.shorten() == Shortened()
        assert len(await board.records(TOPICS.discovery)) == 25

    on_board(scenario)


def test_many_silent_subscribers_are_repeated_only_if_enough_is_removed() -> None:
    async def scenario(board: Board) -> None:
        for number in range(100):
            await board.announce(f"silent-{number}")
        await board.announce("live", 100)
        assert await board.shorten() == Shortened()
        await board.announce("live", 200)
        assert (await board.shorten()).removed
        assert len(await board.members()) == 101

    on_board(scenario)


class Failing(MemoryLog):
    """A log on which a trim fails once, as if its process was killed."""

    failures = 1

    async def trim(self, topic: str, retention: Retention) -> int:
        if self.failures:
            self.failures -= 1
            raise LogUnavailable("killed")
        return await super().trim(topic, retention)


def test_a_kill_between_repeating_and_removing_loses_nothing() -> None:
    async def scenario(board: Board) -> None:
        board.log = Failing(clock=lambda: board.now_ns)
        for topic in (TOPICS.package, TOPICS.status, TOPICS.discovery, TOPICS.command):
            await board.log.ensure(topic)
        await board.announce("silent", offset=7)
        said_ns = board.now_ns
        await board.announce("live", 100)
        with pytest.raises(LogUnavailable):
            await board.shorten()
        assert (await board.members())["silent"] == (7, said_ns)
        await board.shorten()
        assert (await board.members())["silent"] == (7, said_ns)
        assert len(await board.records(TOPICS.discovery)) < 60

    on_board(scenario)


class ReplacedBeforeItsTrim(MemoryLog):
    """A log that is replaced by another one just before it is trimmed."""

    async def trim(self, topic: str, retention: Retention) -> int:
        self._topic(topic).identity = "another"
        return await super().trim(topic, retention)


def test_a_log_replaced_after_it_was_read_is_not_trimmed() -> None:
    async def scenario(board: Board) -> None:
        board.log = ReplacedBeforeItsTrim(clock=lambda: board.now_ns)
        for topic in (TOPICS.package, TOPICS.status, TOPICS.discovery, TOPICS.command):
            await board.log.ensure(topic)
        await board.announce("live", 100)
        with pytest.raises(LogReplaced):
            await board.shorten()
        assert len(await board.records(TOPICS.discovery)) == 100

    on_board(scenario)


def test_any_number_of_shorteners_may_run_at_once() -> None:
    async def scenario(board: Board) -> None:
        await board.announce("silent", offset=7)
        await board.announce("live", 200)
        await asyncio.gather(*(board.shorten() for _ in range(5)))
        assert sorted(await board.members()) == ["live", "silent"]
        await board.announce("live", 200)
        await asyncio.gather(*(board.shorten() for _ in range(5)))
        assert sorted(await board.members()) == ["live", "silent"]
        assert len(await board.records(TOPICS.discovery)) < 70

    on_board(scenario)


class Interrupted(MemoryLog):
    """A log to which something is appended just before a repeated record."""

    before: Callable[[], Awaitable[object]] | None = None

    async def append(self, topic: str, records: list[NewRecord]) -> list[int]:  # type: ignore[override]
        if self.before is not None and any(name == "repeats" for name, _ in records[0].headers):
            before, self.before = self.before, None
            await before()
        return await super().append(topic, records)


@asynccontextmanager
async def interrupted() -> AsyncIterator[tuple[Board, Interrupted]]:
    board = Board()
    board.log = log = Interrupted(clock=lambda: board.now_ns)
    for topic in (TOPICS.package, TOPICS.status, TOPICS.discovery, TOPICS.command):
        await log.ensure(topic)
    yield board, log


def test_a_subscriber_forgotten_while_its_announcement_is_repeated_stays_forgotten() -> None:
    async def run() -> None:
        async with interrupted() as (board, log):
            await board.announce("silent")
            await board.announce("live", 100)
            log.before = lambda: board.append(TOPICS.discovery, ForgottenMessage(subscriber="silent"))
            for _ in range(10):
                await board.shorten()
                assert list(await board.members()) == ["live"]
                await board.announce("live", 40)

    asyncio.run(run())


def test_a_subscriber_that_returns_while_its_announcement_is_repeated_has_its_new_position() -> None:
    async def run() -> None:
        async with interrupted() as (board, log):
            await board.announce("silent", offset=7)
            await board.announce("live", 100)
            log.before = lambda: board.announce("silent", offset=8)
            for _ in range(5):
                await board.shorten()
                assert (await board.members())["silent"][0] == 8
                await board.announce("live", 40)

    asyncio.run(run())


@pytest.mark.proves("W38")
def test_statuses_of_packages_that_were_not_imported_are_kept_and_others_removed() -> None:
    async def scenario(board: Board) -> None:
        for _ in range(4):
            await board.package()
        await board.tell("edge", 1, Status.REMOVED_FAILED)
        await board.tell("edge", 2, Status.REMOVED_FAILED)
        await board.tell("edge", 2, Status.REMOVED)
        await board.tell("edge", 3, Status.HELD)
        await board.tell("edge", 3, Status.IMPORTED)
        await board.tell("edge", 4, Status.SKIPPED)
        for _ in range(5):
            for _ in range(100):
                await board.tell("other", 4, Status.IMPORTED)
            await board.shorten()
        found = await statuses_of(board.log, TOPICS.status, "edge")
        left = {package: told.status for package, told in found.items()}
        assert left == {1: Status.REMOVED_FAILED, 2: Status.REMOVED, 4: Status.SKIPPED}
        assert len(await board.records(TOPICS.status)) < 80

    on_board(scenario)


def test_the_verdicts_of_golden_subscribers_are_kept_as_long_as_their_packages() -> None:
    async def scenario(board: Board) -> None:
        for _ in range(30):
            await board.package()
        await board.announce("staged", golden="golden")
        for package in range(1, 31):
            await board.tell("golden", package, Status.IMPORTED)
        for _ in range(200):
            await board.tell("other", 4, Status.IMPORTED)
        assert (await board.shorten()).removed
        assert list(await statuses_of(board.log, TOPICS.status, "golden")) == list(range(1, 31))
        await board.log.trim(TOPICS.package, Retention(below_offset=21))
        for _ in range(200):
            await board.tell("other", 24, Status.IMPORTED)
        assert (await board.shorten()).removed
        assert list(await statuses_of(board.log, TOPICS.status, "golden")) == list(range(21, 31))

    on_board(scenario)


def test_the_failure_of_a_package_that_is_not_on_the_log_is_removed() -> None:
    async def scenario(board: Board) -> None:
        await board.package()
        await board.tell("edge", 8, Status.HELD)  # late, of a log that was replaced
        for _ in range(100):
            await board.tell("other", 1, Status.IMPORTED)
        assert (await board.shorten()).removed
        assert not await statuses_of(board.log, TOPICS.status, "edge")

    on_board(scenario)


class Replaced(MemoryLog):
    """A log that is replaced by another one after the last of these calls for the bounds of a topic."""

    after: tuple[str, ...] = ()
    other: MemoryLog

    async def bounds(self, topic: str) -> Bounds:
        bounds = await super().bounds(topic)
        if self.after[:1] == (topic,):
            self.after = self.after[1:]
            self._topics = self._topics if self.after else self.other._topics
        return bounds


@pytest.mark.parametrize("after", [(TOPICS.package,), (TOPICS.command, TOPICS.command)])
def test_nothing_is_removed_by_the_state_of_a_log_that_is_replaced_meanwhile(after: tuple[str, ...]) -> None:
    async def run() -> None:
        former, board = Board(), Board()
        former.log = log = Replaced(clock=lambda: former.now_ns)
        for each in (former, board):
            for topic in (TOPICS.package, TOPICS.status, TOPICS.discovery, TOPICS.command):
                await each.log.ensure(topic)
            await each.package()
        await former.log.trim(TOPICS.package, Retention(below_offset=2))
        await former.announce("edge", command_offset=50)
        for _ in range(60):
            await _command(former, "other")
        await board.tell("edge", 1, Status.REMOVED_FAILED)
        await board.announce("edge")
        for _ in range(100):
            await board.tell("other", 1, Status.IMPORTED)
            await former.tell("other", 1, Status.IMPORTED)
            await _command(board, "edge")
        assert isinstance(board.log, MemoryLog)
        log.after, log.other, former.now_ns = after, board.log, board.now_ns
        with pytest.raises(LogReplaced):
            await former.shorten()
        assert (await statuses_of(board.log, TOPICS.status, "edge"))[1].status is Status.REMOVED_FAILED
        assert len(await board.records(TOPICS.command)) == 100

    asyncio.run(run())


def test_a_failure_settled_while_it_is_repeated_does_not_come_back() -> None:
    async def run() -> None:
        async with interrupted() as (board, log):
            await board.package()
            await board.tell("edge", 1, Status.REMOVED_FAILED)
            for _ in range(100):
                await board.tell("other", 1, Status.IMPORTED)
            log.before = lambda: board.tell("edge", 1, Status.IMPORTED)
            await board.shorten()
            assert (await statuses_of(board.log, TOPICS.status, "edge"))[1].status is Status.IMPORTED
            for _ in range(100):
                await board.tell("other", 1, Status.IMPORTED)
            await board.shorten()
            assert Status.REMOVED_FAILED not in {
                told.status for told in (await statuses_of(board.log, TOPICS.status, "edge")).values()
            }

    asyncio.run(run())


async def _command(board: Board, subscriber: str) -> int:
    command = CommandMessage(subscriber_instance="", subscriber=subscriber, pause=PauseCommand())
    return await board.append(TOPICS.command, command)


@pytest.mark.proves("W38")
def test_a_command_is_kept_until_it_is_carried_out_or_too_old() -> None:
    async def scenario(board: Board) -> None:
        for _ in range(10):
            await _command(board, "edge")
        pending = await _command(board, "away")
        for _ in range(100):
            last = await _command(board, "edge")
        await board.announce("edge", command_offset=last)
        await board.announce("away", command_offset=-1)
        await board.shorten()
        assert (await board.log.bounds(TOPICS.command)).first == pending
        board.now_ns += 6000 * SECOND_NS
        for _ in range(100):
            last = await _command(board, "edge")
        await board.announce("edge", command_offset=last)
        await board.shorten()
        assert (await board.log.bounds(TOPICS.command)).first > pending

    on_board(scenario)


def test_old_announcements_of_folds_are_dropped() -> None:
    async def scenario(board: Board) -> None:
        said = FoldAnnouncementMessage(kind="entities", name="bank.account", incarnation="i", interval_s=15)
        for _ in range(300):
            await board.append(TOPICS.discovery, said)
        await board.announce("edge")
        await board.shorten()
        first, end = await board.log.bounds(TOPICS.discovery)
        assert end - first < 100

    on_board(scenario)


@pytest.mark.proves("W38")
def test_records_not_yet_archived_are_kept_unless_the_archive_is_silent_for_long() -> None:
    async def scenario(board: Board) -> None:
        topics = (ArchivedTopic(topic=TOPICS.discovery, next=15),)
        await board.append(TOPICS.discovery, ArchivedMessage(topics=topics, place="a"))
        for _ in range(3):
            await board.announce("live", 100)
            await board.shorten()
            assert (await board.log.bounds(TOPICS.discovery)).first <= 15
        further = (ArchivedTopic(topic=TOPICS.discovery, next=280),)
        await board.append(TOPICS.discovery, ArchivedMessage(topics=further, place="a"))
        await board.announce("live", 100)
        await board.shorten()
        assert (await board.log.bounds(TOPICS.discovery)).first == 280
        board.now_ns += 6000 * SECOND_NS
        await board.announce("live", 100)
        await board.shorten()
        assert (await board.log.bounds(TOPICS.discovery)).first > 400

    on_board(scenario)


def test_a_topic_with_an_announcement_of_a_newer_version_is_not_shortened_and_says_so() -> None:
    async def scenario(board: Board) -> None:
        newer = new_record(ForgottenMessage(subscriber="x"), record_id="r", time_ns=1, producer="x")
        headers = tuple((name, "9.0" if name == "version" else value) for name, value in newer.headers)
        await board.log.append(TOPICS.discovery, [NewRecord(payload=newer.payload, headers=headers)])
        await board.announce("live", 100)
        done = await board.shorten()
        assert "upgrade it" in done.problem
        assert len(await board.records(TOPICS.discovery)) == 101

    on_board(scenario)


def test_a_topic_that_ends_with_a_gap_is_read_to_its_end() -> None:
    class Gap(MemoryLog):
        async def bounds(self, topic: str) -> Bounds:
            first, end = await super().bounds(topic)
            return Bounds(first, end + 3)

        async def read(self, topic: str, start: int, *limits: Any, **wait: Any) -> list[Record]:
            at_end = start == (await super().bounds(topic)).end
            return [] if at_end else await super().read(topic, start, *limits, **wait)

    async def run() -> None:
        board = Board()
        board.log = Gap(clock=lambda: board.now_ns)
        await board.log.ensure(TOPICS.discovery)
        await board.announce("edge", 3)
        assert list(await board.members()) == ["edge"]

    asyncio.run(run())


def test_a_record_repeated_twice_keeps_its_first_offset() -> None:
    first = new_record(ForgottenMessage(subscriber="x"), record_id="r", time_ns=1, producer="x").at(5, 700)
    second = repeated(first, 90).at(91, 800)
    third = original_of(repeated(second, 200).at(201, 900))
    assert third is not None
    assert (third.offset, third.time_ns, third.read_to) == (5, 700, 200)


@pytest.mark.parametrize("header", ["", "1 2", "x y z", "9 1 3", "1 1 -5", f"1 {'9' * 30} 3"])
def test_a_record_with_an_invalid_header_repeats_nothing(header: str) -> None:
    assert original_of(NewRecord(payload=b"", headers=(("repeats", header),)).at(7, 1)) is None
