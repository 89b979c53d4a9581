"""Forged announcements on the log: no single record loses content or blocks something for ever."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from callboard.actors.core.shortening_limits import ShorteningLimits
from callboard.actors.worlds.shortening.shortener import Shortener
from callboard.backends.log import Log, Retention
from callboard.backends.logs.memory import MemoryLog
from callboard.backends.logs.sqlite import SqliteLog
from callboard.board.care.retention_gate import GatePolicy, RetentionGate, trim
from callboard.messages.distribution.topic_messages import (
    ArchivedMessage,
    ArchivedTopic,
    ClearCommand,
    CommandMessage,
    DiscoveryMessage,
    ForgottenMessage,
    Kind,
    PackageMessage,
    State,
    SubscriberConfiguration,
)
from callboard.messages.event import Event
from callboard.messages.headers import new_record
from callboard.messages.record import NewRecord
from callboard.messages.repeated import repeated
from callboard.messages.topics import Topics

TOPICS = Topics.with_prefix()
EVERY_TOPIC = (TOPICS.package, TOPICS.status, TOPICS.discovery, TOPICS.command, TOPICS.event)
SECOND_NS = 10**9
DAY_NS = 86_400 * SECOND_NS
START_NS = 1_700_000_000 * SECOND_NS
HUGE = 1 << 62
PACKAGES = 20
"""At the offsets from 1 on."""
POSITION = 5
"""Where the subscriber ``edge`` stands that has stopped."""


class Board:
    """A log with packages, one a second, and a stopped subscriber that has the first few of them."""

    def __init__(self) -> None:
        self.now_ns = START_NS
        self.log: Log = MemoryLog(clock=lambda: self.now_ns)
        self.log_id = ""

    async def append(self, topic: str, event: Event, producer: str = "somebody", record_id: str = "r") -> int:
        self.now_ns += SECOND_NS
        record = new_record(event, record_id=record_id, time_ns=self.now_ns, producer=producer)
        return (await self.log.append(topic, [record]))[0]

    async def announce(self, instance: str = "true", name: str = "edge", **fields: Any) -> int:
        message = DiscoveryMessage(
            subscriber_instance=instance,
            subscriber=name,
            configuration=SubscriberConfiguration(editable=False, max_retries=-1),
            log_id=self.log_id,
        )
        return await self.append(TOPICS.discovery, replace(message, **fields), f"{name}/{instance}")

    async def publish(self, count: int = 1) -> None:
        for _ in range(count):
            package = PackageMessage(publisher_instance="i", publisher="site", package_id="p", kind=Kind.ADD)
            await self.append(TOPICS.package, package)

    async def begin(self) -> None:
        for topic in EVERY_TOPIC:
            await self.log.ensure(topic)
        self.log_id = await self.log.identity(TOPICS.package)
        await self.publish(PACKAGES)
        await self.announce(offset=POSITION, state=State.STOPPED)
        self.now_ns += DAY_NS

    async def trim(self, gone_days: float | None = None) -> int:
        """Remove what the gate releases; returns the first package that is left."""
        gate = RetentionGate(GatePolicy("subscribers", gone_days), TOPICS)
        kept = await gate.keep_from(self.log, self.now_ns)
        return (await trim(self.log, TOPICS, Retention(below_offset=HUGE), kept, self.now_ns))[TOPICS.package]

    async def shorten(self) -> None:
        limits = ShorteningLimits(records=10, slack=5, announced_s=50.0, told_s=50.0)
        await Shortener(self.log).run(TOPICS, limits, self.now_ns)


Scenario = Callable[[Board], Awaitable[None]]


@pytest.fixture(params=["memory", "sqlite"])
def on_board(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[Scenario], None]:
    def play(scenario: Scenario) -> None:
        async def run() -> None:
            board = Board()
            if request.param == "sqlite":
                board.log = SqliteLog(tmp_path / "log", clock=lambda: board.now_ns)
            await board.begin()
            try:
                await scenario(board)
            finally:
                await board.log.close()

        asyncio.run(run())

    return play


# What a gated trim must keep.

FORGED_WORDS: dict[str, dict[str, Any]] = {
    "another instance": {"instance": "false", "offset": PACKAGES - 1},
    "another instance and place": {"instance": "false", "offset": PACKAGES - 1, "place": "elsewhere"},
    "another instance that stops": {"instance": "false", "offset": PACKAGES - 1, "state": State.STOPPED},
    "no instance": {"instance": "", "offset": PACKAGES - 1},
    "beyond the end": {"offset": HUGE},
    "beyond the end, with something held": {"offset": HUGE, "held_offset": HUGE},
    "just beyond the end": {"offset": PACKAGES + 1},
    "a limit of the number": {"offset": (1 << 63) - 1},
    "another log": {"offset": PACKAGES - 1, "log_id": "another"},
}


@pytest.mark.parametrize("forged", FORGED_WORDS.values(), ids=FORGED_WORDS)
def test_a_forged_announcement_lets_no_trim_remove_what_a_stopped_subscriber_needs(
    on_board: Callable[[Scenario], None], forged: dict[str, Any]
) -> None:
    async def scenario(board: Board) -> None:
        await board.announce(**forged)
        assert await board.trim() <= POSITION + 1

    on_board(scenario)


def test_an_announcement_of_a_package_that_did_not_exist_yet_never_counts(
    on_board: Callable[[Scenario], None],
) -> None:
    async def scenario(board: Board) -> None:
        await board.announce(offset=2 * PACKAGES - 1)
        board.now_ns += DAY_NS
        await board.publish(2 * PACKAGES)
        assert await board.trim() <= POSITION + 1

    on_board(scenario)


def test_a_subscriber_forgotten_by_a_forged_record_keeps_its_packages_for_a_day_and_for_good_once_it_announces(
    on_board: Callable[[Scenario], None],
) -> None:
    async def scenario(board: Board) -> None:
        await board.append(TOPICS.discovery, ForgottenMessage(subscriber="edge"))
        board.now_ns += DAY_NS // 2
        for number in range(40):
            await board.announce("other", f"other-{number % 2}", offset=PACKAGES - 1)
            board.now_ns += 10 * SECOND_NS
            await board.shorten()
        assert await board.trim() == POSITION + 1
        await board.announce(offset=POSITION)
        board.now_ns += 2 * DAY_NS
        assert await board.trim() == POSITION + 1

    on_board(scenario)


def test_packages_of_a_forgotten_subscriber_are_released_after_a_day_also_when_topics_are_shortened(
    on_board: Callable[[Scenario], None],
) -> None:
    async def scenario(board: Board) -> None:
        await board.append(TOPICS.discovery, ForgottenMessage(subscriber="edge"))
        for number in range(80):
            await board.announce("other", f"other-{number % 2}", offset=PACKAGES - 1)
            board.now_ns += DAY_NS // 60
            await board.shorten()
        assert (await board.log.bounds(TOPICS.discovery)).first > 2, "it was shortened"
        assert await board.trim() == PACKAGES

    on_board(scenario)


def test_an_announcement_dated_ahead_counts_no_longer_than_any_other(on_board: Callable[[Scenario], None]) -> None:
    async def scenario(board: Board) -> None:
        now_ns, board.now_ns = board.now_ns, START_NS + 10_000 * DAY_NS
        await board.announce("false", "nobody", offset=-1)
        board.now_ns = now_ns
        await board.announce(offset=POSITION)
        board.now_ns += 5 * DAY_NS
        await board.announce("other", "other", offset=PACKAGES - 1)
        assert await board.trim(gone_days=4) == PACKAGES

    on_board(scenario)


def test_commands_that_another_repository_claims_to_have_carried_out_are_kept(
    on_board: Callable[[Scenario], None],
) -> None:
    async def scenario(board: Board) -> None:
        command = CommandMessage(subscriber_instance="true", subscriber="edge", clear=ClearCommand(offset=9))
        offset = await board.append(TOPICS.command, command)
        await board.announce("false", command_offset=HUGE)
        await board.announce(command_offset=HUGE, offset=POSITION)
        await board.trim()
        for _ in range(30):
            await board.append(TOPICS.command, replace(command, subscriber="other", subscriber_instance="o"))
            board.now_ns += 10 * SECOND_NS
        await board.shorten()
        first, _ = await board.log.bounds(TOPICS.command)
        assert first <= offset

    on_board(scenario)


def test_an_archive_that_claims_more_than_there_is_removes_nothing(on_board: Callable[[Scenario], None]) -> None:
    async def scenario(board: Board) -> None:
        topics = (ArchivedTopic(topic=TOPICS.discovery, next=3),)
        await board.append(TOPICS.discovery, ArchivedMessage(topics=topics, place="/archive"))
        topics = (ArchivedTopic(topic=TOPICS.discovery, next=HUGE),)
        await board.append(TOPICS.discovery, ArchivedMessage(topics=topics, place="/archive"))
        for _ in range(40):
            await board.announce("other", "other")
            board.now_ns += 10 * SECOND_NS
        await board.shorten()
        assert (await board.log.bounds(TOPICS.discovery)).first <= 3

    on_board(scenario)


def test_an_archive_announcement_dated_ahead_does_not_block_trims_for_ever(
    on_board: Callable[[Scenario], None],
) -> None:
    async def scenario(board: Board) -> None:
        now_ns, board.now_ns = board.now_ns, START_NS + 10_000 * DAY_NS
        topics = (ArchivedTopic(topic=TOPICS.discovery, next=0),)
        await board.append(TOPICS.discovery, ArchivedMessage(topics=topics, place="/nowhere"))
        board.now_ns = now_ns + DAY_NS
        for _ in range(40):
            await board.announce("other", "other")
            board.now_ns += DAY_NS
        await board.shorten()
        assert (await board.log.bounds(TOPICS.discovery)).first > 3

    on_board(scenario)


@pytest.mark.parametrize("topic", [TOPICS.discovery, TOPICS.status])
def test_an_undecodable_record_does_not_keep_a_topic_long_for_ever(
    on_board: Callable[[Scenario], None], topic: str
) -> None:
    async def scenario(board: Board) -> None:
        headers = (("type", "DiscoveryMessage" if topic == TOPICS.discovery else "3"), ("version", "9.0"))
        (offset,) = await board.log.append(topic, [NewRecord(payload=b"", headers=headers)])
        for days, stays in ((1, True), (31, False)):
            for _ in range(40):
                await board.announce("other", "other")
                await board.log.append(topic, [NewRecord(payload=b"", headers=(("type", "LogMessage"),))])
                board.now_ns += days * DAY_NS // 40
            board.now_ns += 20 * SECOND_NS
            await board.log.append(topic, [NewRecord(payload=b"", headers=(("type", "LogMessage"),))] * 20)
            await board.shorten()
            assert ((await board.log.bounds(topic)).first <= offset) is stays

    on_board(scenario)


def test_a_forged_repetition_replaces_no_genuine_announcement(on_board: Callable[[Scenario], None]) -> None:
    async def scenario(board: Board) -> None:
        true = (await board.log.read(TOPICS.discovery, 1, 1))[0]
        forged = new_record(
            DiscoveryMessage(
                subscriber_instance="true",
                subscriber="edge",
                configuration=SubscriberConfiguration(editable=False, max_retries=-1),
                log_id=board.log_id,
                offset=PACKAGES - 1,
            ),
            record_id="r",
            time_ns=1,
            producer="edge/true",
        ).at(true.offset, true.time_ns)
        _, end = await board.log.bounds(TOPICS.discovery)
        await board.log.append(TOPICS.discovery, [repeated(forged, end)])
        for _ in range(40):
            await board.announce("other", "other", offset=PACKAGES - 1)
            board.now_ns += 10 * SECOND_NS
            await board.shorten()
        assert await board.trim() == POSITION + 1

    on_board(scenario)


def test_a_second_instance_that_withdrew_its_claim_needs_no_packages(on_board: Callable[[Scenario], None]) -> None:
    async def scenario(board: Board) -> None:
        await board.announce(offset=PACKAGES - 1)
        await board.announce("second", offset=-1, state=State.STARTING)
        assert await board.trim() == 1, "it may get the name"
        await board.announce("second", offset=-1, state=State.STOPPED)
        assert await board.trim() == PACKAGES

    on_board(scenario)
