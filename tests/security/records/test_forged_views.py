"""Forged announcements of a fleet on the log: what is shown stays possible, and no subscriber looks live for ever."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from callboard.board.command.forgetting import forget_subscriber
from callboard.board.read.status.families import exposed
from callboard.board.read.status.metrics import board_metrics
from callboard.messages.distribution.topic_messages import (
    DiscoveryMessage,
    Histogram,
    State,
    SubscriberConfiguration,
    ThrottledMessage,
)
from callboard.messages.headers import new_record
from callboard.messages.repeated import repeated
from tests.unit.board.status.conftest import Board

HUGE = 1 << 62
LIVE_MAX_S = 900.0
"""How long one announcement may make a subscriber look live: three times the longest interval."""


@pytest.fixture
def board(tmp_path: Path) -> Iterator[Board]:
    made = Board(tmp_path)
    yield made
    made.close()


def dated(board: Board, message: Any, time_ns: int, producer: str = "somebody") -> None:
    """Append a message with this time to the log, as a host with that clock would."""
    record = new_record(message, record_id="r", time_ns=time_ns, producer=producer)
    real = board.log._clock
    board.log._clock = lambda: time_ns
    board.simulation.run(board.log.append(board.topics.discovery, [record]))
    board.log._clock = real


def word(board: Board, name: str = "edge", instance: str = "false", **fields: Any) -> DiscoveryMessage:
    configuration = SubscriberConfiguration(editable=False, max_retries=-1)
    return DiscoveryMessage(
        subscriber_instance=instance, subscriber=name, configuration=configuration, log_id="L1", **fields
    )


@pytest.mark.parametrize("interval_ms", [HUGE, (1 << 63) - 1, -1, -HUGE, 0])
def test_an_impossible_interval_keeps_no_subscriber_live_longer_than_the_longest_one(
    board: Board, interval_ms: int
) -> None:
    board.announce("edge", 0, announce_interval_ms=interval_ms)
    assert board.row("edge").liveness == "live"
    board.pass_time(LIVE_MAX_S + 1)
    assert board.row("edge").liveness != "live"
    board.announce("edge", 0, subscriber_instance="true")
    assert board.row("edge").instance == "true", "the name is not locked"
    board.pass_time(LIVE_MAX_S + 1)
    forgotten(board)


def forgotten(board: Board, *, force: bool = False) -> None:
    board.simulation.run(forget_subscriber(board.context, "edge", author="kim", force=force))
    assert all(row.name != "edge" for row in board.status().subscribers)


def test_a_name_can_be_freed_by_force_despite_a_forged_announcement_every_second(board: Board) -> None:
    for _ in range(5):
        board.announce("edge", 0, announce_interval_ms=HUGE)
        board.pass_time(1.0)
    forgotten(board, force=True)


@pytest.mark.parametrize("history", [True, False], ids=["in the newest records", "looked back for"])
def test_an_announcement_dated_ahead_does_not_look_live_after_a_restart(board: Board, history: bool) -> None:
    dated(board, word(board), board.now_ns + 10**18)
    board.pass_time(LIVE_MAX_S)
    for _ in range(3 if history else 20_005):
        board.announce("other", 0)
    for _ in range(3):
        board.start()
        assert board.row("edge").liveness == "gone"
        board.pass_time(60)
    forgotten(board)


def test_a_repeated_announcement_takes_no_name_that_a_first_one_would_not_get(board: Board) -> None:
    board.announce("edge", 0, subscriber_instance="true")
    board.announce("other", 0)
    assert board.row("edge").instance == "true"
    _, end = board.simulation.run(board.log.bounds(board.topics.discovery))
    for time_ns in (0, board.now_ns, board.now_ns + 10**18):
        false = new_record(word(board), record_id="r", time_ns=1, producer="edge/false").at(end - 1, time_ns)
        board.simulation.run(board.log.append(board.topics.discovery, [repeated(false, end)]))
        assert board.row("edge").instance == "true"


def test_repeating_a_forget_record_forgets_no_subscriber_that_has_announced_since(board: Board) -> None:
    board.announce("edge", 0)
    board.start()
    board.forget("edge")
    record = board.simulation.run(board.log.read(board.topics.discovery, 2))[0]
    board.announce("edge", 0)
    assert [row.name for row in board.status().subscribers] == ["edge"]
    board.simulation.run(board.log.append(board.topics.discovery, [repeated(record, 4)]))
    assert [row.name for row in board.status().subscribers] == ["edge"]
    board.start()
    assert [row.name for row in board.status().subscribers] == ["edge"]


@pytest.mark.parametrize("number", [HUGE, -HUGE])
def test_the_figures_of_a_throttled_publisher_are_shown_within_possible_bounds(board: Board, number: int) -> None:
    board.package()
    board.announce("edge", 0)
    said = ThrottledMessage(
        publisher="site", publisher_instance="false", subscriber="edge", backlog=number, waiting=number,
        delay_ms=number, since_ns=number, time_ns=number,
    )  # fmt: skip
    board.start()
    board.status()
    board.write(board.topics.discovery, said)
    (publisher,) = board.status().publishers
    (told,) = publisher.held_up
    assert 0 <= told.backlog <= 1
    assert 0 <= told.waiting <= 1000
    assert 0 <= told.delay_s <= 300
    assert 0 <= told.since_s <= board.now_ns / 1e9
    board.pass_time(31)
    assert board.status().publishers[0].held_up == (), "nothing was said for long"


def test_a_throttling_dated_ahead_is_not_shown_after_a_restart(board: Board) -> None:
    board.package()
    board.announce("edge", 0)
    said = ThrottledMessage(publisher="site", publisher_instance="false", subscriber="edge", backlog=5)
    dated(board, said, board.now_ns + 10**18)
    for _ in range(3):
        board.pass_time(31)
        board.start()
        assert board.status().publishers[0].held_up == ()


@pytest.mark.parametrize("number", [HUGE, -HUGE, -1])
def test_ages_and_durations_are_never_negative_or_endless(board: Board, number: int) -> None:
    board.package()
    durations = Histogram(counts=(number, 1), sum_us=number)
    board.announce(
        "edge", 0, State.RETRYING, next_try_ns=number, since_ns=number, time_ns=number, import_started_ns=number,
        imports=durations,
    )  # fmt: skip
    row = board.row("edge")
    assert 0 <= row.next_try_s <= 86_400
    for age_s in (row.since_s, row.seen_s, row.importing_s, max(row.lag_s, 0)):
        assert 0 <= age_s <= board.now_ns / 1e9
    shown = exposed(board_metrics(board.status(), {}, {}, [word(board, imports=durations)]))
    negative = [line for line in shown.splitlines() if line[:1] != "#" and float(line.split()[-1]) < 0]
    assert all("subscriber_offset" in line for line in negative), "before the first package is -1"
