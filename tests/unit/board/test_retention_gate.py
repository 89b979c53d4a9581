"""A retention with a gate removes nothing that a subscriber or the archive still needs."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest

from callboard.backends.log import Retention
from callboard.backends.logs.memory import MemoryLog
from callboard.board.archive.archive_tip import ArchiveTip, write_tip
from callboard.board.care.retention_gate import ARCHIVE, GatePolicy, Need, RetentionGate, first_since, trim
from callboard.errors import RequestRefused
from callboard.messages.distribution.topic_messages import (
    ArchivedMessage,
    ClearCommand,
    CommandMessage,
    DiscoveryMessage,
    ForgottenMessage,
    Kind,
    PackageMessage,
    PackageStatusMessage,
    State,
    Status,
    SubscriberConfiguration,
)
from callboard.messages.event import Event
from callboard.messages.headers import new_record, open_record
from callboard.messages.record import NewRecord
from callboard.messages.topics import Topics
from tests.refused import refused

TOPICS = Topics.with_prefix()
DAY_NS = 86_400 * 10**9
EVERYTHING = Retention(older_than_s=0, below_offset=1000)


class Board:
    """A log in memory with a clock of its own: packages at offsets 1 to 10, one a day."""

    def __init__(self) -> None:
        self.now_ns = 1_000 * DAY_NS
        self.log = MemoryLog(clock=lambda: self.now_ns)
        self.log_id = ""

    async def fill(self) -> None:
        for topic in (TOPICS.package, TOPICS.status, TOPICS.discovery, TOPICS.command, TOPICS.event):
            await self.log.ensure(topic)
        self.log_id = await self.log.identity(TOPICS.package)
        for number in range(1, 11):
            package = PackageMessage(publisher_instance="i", publisher="site", package_id=f"p-{number}", kind=Kind.TEST)
            await self.append(TOPICS.package, package)
            await self.append(TOPICS.status, status(number))
            self.now_ns += DAY_NS

    async def append(self, topic: str, event: Event) -> int:
        record = new_record(event, record_id=f"{topic}-{self.now_ns}", time_ns=self.now_ns, producer="test")
        return (await self.log.append(topic, [record]))[0]

    async def announce(self, name: str, offset: int, **fields: object) -> int:
        message = DiscoveryMessage(
            subscriber_instance=f"{name}-1",
            subscriber=name,
            configuration=SubscriberConfiguration(editable=False, max_retries=-1),
            offset=offset,
            log_id=self.log_id,
        )
        return await self.append(TOPICS.discovery, replace(message, **fields))

    def gate(self, policy: GatePolicy) -> RetentionGate:
        return RetentionGate(policy, TOPICS)

    async def trimmed(self, policy: GatePolicy, retention: Retention = EVERYTHING) -> dict[str, int]:
        kept = await self.gate(policy).keep_from(self.log, self.now_ns)
        return await trim(self.log, TOPICS, retention, kept, self.now_ns)


def status(offset: int) -> PackageStatusMessage:
    return PackageStatusMessage(
        subscriber_instance="i", subscriber="edge", publisher="site", offset=offset, status=Status.IMPORTED
    )


def on_board(scenario: Callable[[Board], Awaitable[None]]) -> None:
    async def run() -> None:
        board = Board()
        await board.fill()
        await scenario(board)
        await board.log.close()

    asyncio.run(run())


SUBSCRIBERS = GatePolicy("subscribers")


@pytest.mark.proves("W27", "W3")
def test_packages_stay_until_the_slowest_subscriber_has_processed_them():
    async def scenario(board: Board) -> None:
        await board.announce("fast", 10)
        await board.announce("slow", 6, state=State.STOPPED)
        assert (await board.trimmed(SUBSCRIBERS))[TOPICS.package] == 7

    on_board(scenario)


def test_without_a_gate_everything_beyond_the_limits_is_removed():
    async def scenario(board: Board) -> None:
        await board.announce("slow", 6)
        assert (await board.trimmed(GatePolicy()))[TOPICS.package] == 11

    on_board(scenario)


def test_a_gate_never_removes_more_than_the_limits_do():
    async def scenario(board: Board) -> None:
        await board.announce("slow", 6)
        assert (await board.trimmed(SUBSCRIBERS, Retention(below_offset=3)))[TOPICS.package] == 3

    on_board(scenario)


def test_a_package_in_a_quarantine_stays():
    async def scenario(board: Board) -> None:
        await board.announce("edge", 9, held=2, held_offset=4)
        assert (await board.trimmed(SUBSCRIBERS))[TOPICS.package] == 4

    on_board(scenario)


@pytest.mark.parametrize(("offset", "log_id"), [(9, "another"), (-1, "")], ids=["moved", "never placed"])
def test_a_subscriber_without_a_position_on_this_log_keeps_all_of_it(offset, log_id):
    async def scenario(board: Board) -> None:
        await board.announce("edge", offset, log_id=log_id)
        assert (await board.trimmed(SUBSCRIBERS))[TOPICS.package] == 1

    on_board(scenario)


def test_a_subscriber_counts_until_a_day_after_it_is_forgotten_and_again_when_it_comes_back():
    async def scenario(board: Board) -> None:
        await board.announce("slow", 3)
        gate = board.gate(SUBSCRIBERS)
        assert await gate.needs(board.log, board.now_ns) == [Need("slow", 4)]
        await board.append(TOPICS.discovery, ForgottenMessage(subscriber="slow", author="ada"))
        board.now_ns += DAY_NS
        assert await gate.needs(board.log, board.now_ns) == [Need("slow", 4)]
        board.now_ns += 1
        assert await gate.needs(board.log, board.now_ns) == []
        await board.announce("slow", 3)
        assert await gate.needs(board.log, board.now_ns) == [Need("slow", 4)]

    on_board(scenario)


def test_a_subscriber_that_is_silent_for_longer_than_gate_gone_days_does_not_count():
    async def scenario(board: Board) -> None:
        await board.announce("slow", 3)
        board.now_ns += 7 * DAY_NS
        await board.announce("fast", 8)
        assert (await board.trimmed(replace(SUBSCRIBERS, gone_days=7.5)))[TOPICS.package] == 4
        assert (await board.trimmed(replace(SUBSCRIBERS, gone_days=6.5)))[TOPICS.package] == 9

    on_board(scenario)


def test_a_subscriber_with_a_slow_clock_is_dated_by_the_records_before_its_announcement():
    async def scenario(board: Board) -> None:
        await board.announce("fast", 8)
        board.now_ns -= 8 * DAY_NS
        await board.announce("slow", 3)
        board.now_ns += 8 * DAY_NS
        assert (await board.trimmed(replace(SUBSCRIBERS, gone_days=7)))[TOPICS.package] == 4

    on_board(scenario)


def test_the_last_announcement_of_a_subscriber_stays():
    async def scenario(board: Board) -> None:
        word = await board.announce("slow", 3)
        for _ in range(3):
            await board.announce("fast", 10)
        assert (await board.trimmed(SUBSCRIBERS))[TOPICS.discovery] == word
        assert (await board.trimmed(SUBSCRIBERS))[TOPICS.package] == 4

    on_board(scenario)


def test_a_command_stays_until_its_subscriber_has_carried_it_out():
    async def scenario(board: Board) -> None:
        def command(subscriber: str) -> CommandMessage:
            return CommandMessage(subscriber_instance="", subscriber=subscriber, clear=ClearCommand(offset=1))

        done = await board.append(TOPICS.command, command("edge"))
        unknown = await board.append(TOPICS.command, command("never heard of"))
        pending = await board.append(TOPICS.command, command("edge"))
        await board.announce("edge", 10, command_offset=done)
        assert unknown < pending
        assert (await board.trimmed(SUBSCRIBERS))[TOPICS.command] == pending

    on_board(scenario)


def test_statuses_stay_as_long_as_their_packages():
    async def scenario(board: Board) -> None:
        await board.announce("slow", 6)
        assert (await board.trimmed(SUBSCRIBERS))[TOPICS.status] == 7
        assert (await board.trimmed(GatePolicy(), Retention(older_than_s=0)))[TOPICS.status] == 11

    on_board(scenario)


def test_packages_stay_until_they_are_archived(tmp_path):
    async def scenario(board: Board) -> None:
        policy = GatePolicy("archive", archive_tip=tmp_path / "tip.json")
        await board.announce("fast", 10)
        with refused("undetermined"):
            await board.trimmed(policy)
        write_tip(tmp_path / "tip.json", ArchiveTip("another", 10))
        with refused("mismatch"):
            await board.trimmed(policy)
        assert (await board.log.bounds(TOPICS.package)).first == 1
        write_tip(tmp_path / "tip.json", ArchiveTip(board.log_id, 5))
        assert await board.gate(policy).needs(board.log, board.now_ns) == [Need(ARCHIVE, 6), Need("fast", 11)]
        assert (await board.trimmed(policy))[TOPICS.package] == 6

    on_board(scenario)


def test_records_of_other_topics_stay_until_they_are_archived(tmp_path):
    async def scenario(board: Board) -> None:
        policy = GatePolicy("archive", archive_tip=tmp_path / "tip.json")
        await board.announce("fast", 10)
        await board.log.append(TOPICS.event, [NewRecord(payload=b"{}")] * 5)
        others = {TOPICS.status: 4, TOPICS.event: 3, TOPICS.discovery: 0}
        write_tip(tmp_path / "tip.json", ArchiveTip(board.log_id, 10, others))
        trimmed = await board.trimmed(policy)
        assert (trimmed[TOPICS.package], trimmed[TOPICS.status], trimmed[TOPICS.event]) == (11, 4, 3)
        assert trimmed[TOPICS.discovery] == 1
        write_tip(tmp_path / "tip.json", ArchiveTip(board.log_id, 10, {TOPICS.event: "many"}))
        with refused("damaged"):
            await board.trimmed(policy)

    on_board(scenario)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"log_id": "x", "offset": "many"}'])
def test_with_an_unreadable_archive_tip_nothing_is_removed(tmp_path, text):
    async def scenario(board: Board) -> None:
        (tmp_path / "tip.json").write_text(text)
        with pytest.raises(RequestRefused):
            await board.trimmed(GatePolicy("archive", archive_tip=tmp_path / "tip.json"))

    on_board(scenario)


def test_nothing_is_removed_while_an_announcement_cannot_be_read():
    async def scenario(board: Board) -> None:
        await board.announce("edge", 10)
        headers = (("type", "DiscoveryMessage"), ("version", "9.0"))
        await board.log.append(TOPICS.discovery, [NewRecord(payload=b"", headers=headers)])
        with refused("undetermined"):
            await board.trimmed(SUBSCRIBERS)

    on_board(scenario)


def test_the_first_record_since_a_time_is_found_across_gaps():
    async def scenario(board: Board) -> None:
        await board.log.trim(TOPICS.package, Retention(below_offset=4))
        at = {record.offset: record.time_ns for record in await board.log.read(TOPICS.package, 4)}
        for offset, time_ns in at.items():
            assert await first_since(board.log, TOPICS.package, time_ns) == offset
            assert await first_since(board.log, TOPICS.package, time_ns + 1) == offset + 1
        assert await first_since(board.log, TOPICS.package, 0) == 4

    on_board(scenario)


def test_each_step_of_the_archive_is_announced_once_on_the_log(tmp_path):
    async def scenario(board: Board) -> None:
        tip = tmp_path / "tip"
        gate = board.gate(GatePolicy("archive", archive_tip=tip))
        for offset in (3, 3, 7):
            write_tip(tip, ArchiveTip(board.log_id, offset, {TOPICS.discovery: 1}))
            await gate.tell_log(board.log, board.now_ns)
        records = await board.log.read(TOPICS.discovery, 1)
        said = [open_record(record, ArchivedMessage) for record in records]
        assert [{each.topic: each.next for each in one.topics}[TOPICS.package] for one in said] == [4, 8]
        await board.gate(SUBSCRIBERS).tell_log(board.log, board.now_ns)
        assert len(await board.log.read(TOPICS.discovery, 1)) == 2

    on_board(scenario)
