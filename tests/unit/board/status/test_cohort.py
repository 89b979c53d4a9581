"""How far the slowest of a cohort is, who counts, and what the states of queues and publishers say."""

from typing import Any

import pytest

from callboard.board.views import CohortQueue, PublisherStatus
from callboard.messages.distribution.topic_messages import State, Status


def publisher(board: Any, name: str = "site") -> PublisherStatus:
    (found,) = [each for each in board.status().publishers if each.name == name]
    return found


def figures(queue: CohortQueue | None) -> tuple[int, int, str, int]:
    assert queue is not None
    return queue.size, queue.length, queue.straggler, queue.members


@pytest.mark.proves("F55", "F57", "W17")
def test_a_cohort_queue_is_the_backlog_of_the_slowest_subscriber_of_the_cohort(board: Any) -> None:
    for _ in range(10):
        board.package(length=100)
    board.pass_time(60)
    board.announce("golden-1", 6, editable=True)
    board.announce("golden-2", 9, editable=True)
    board.announce("edge-1", 4)
    site = publisher(board)
    assert figures(site.persisted) == (4, 400, "golden-1", 2)
    assert figures(site.published) == (6, 600, "edge-1", 3)
    assert site.published
    assert site.published.oldest_s == pytest.approx(60, abs=1)


@pytest.mark.proves("F57", "W17")
def test_a_new_subscriber_has_the_whole_log_as_its_backlog_and_one_that_is_caught_up_has_none(board: Any) -> None:
    for _ in range(5):
        board.package(length=100)
    board.announce("golden-1", -1, editable=True)
    assert figures(publisher(board).persisted) == (5, 500, "golden-1", 1)
    board.announce("golden-1", 5, editable=True)
    assert figures(publisher(board).persisted) == (0, 0, "golden-1", 1)


@pytest.mark.proves("F55")
def test_an_empty_cohort_has_no_cohort_queue(board: Any) -> None:
    board.package()
    board.announce("edge-1", 0)
    assert publisher(board).persisted is None
    assert publisher(board).published is not None


@pytest.mark.proves("F55", "W17", "W38")
def test_a_silent_subscriber_counts_and_stopped_gone_or_forgotten_ones_are_only_named(board: Any) -> None:
    for _ in range(10):
        board.package()
    board.announce("gone-1", 1, editable=True)
    board.pass_time(3700)
    board.announce("stopped-1", 2, State.STOPPED, editable=True)
    board.announce("silent-1", 5, editable=True)
    board.announce("forgotten-1", 0, editable=True)
    board.forget("forgotten-1")
    board.pass_time(120)
    board.announce("golden-1", 9, editable=True)
    site = publisher(board)
    assert figures(site.persisted)[2:] == ("silent-1", 2)
    assert site.left_out == ("gone-1", "stopped-1")


def test_of_two_equally_slow_subscribers_the_first_by_name_is_the_straggler(board: Any) -> None:
    board.package()
    board.announce("b", 0)
    board.announce("a", 0)
    assert figures(publisher(board).published)[2] == "a"


def test_a_subscriber_counts_for_the_publishers_that_it_follows(board: Any) -> None:
    board.package("news")
    board.package("site")
    board.announce("edge-1", 0, follows=("news",))
    board.announce("edge-2", 1, follows=("site",))
    assert figures(publisher(board, "news").published)[2:] == ("edge-1", 1)
    assert figures(publisher(board, "site").published) == (1, 40_000, "edge-2", 1)


@pytest.mark.proves("F44", "F58")
@pytest.mark.parametrize(
    ("offset", "state", "attempts", "queue"),
    [
        (1, State.IDLE, 0, "idle"),
        (0, State.IMPORTING, 0, "running"),
        (0, State.RETRYING, 2, "running"),
        (0, State.RETRYING, 3, "blocked"),
        (0, State.BLOCKED, 1, "blocked"),
        (0, State.GAP, 0, "blocked"),
        (1, State.IDLE, 3, "idle"),
    ],
)
def test_queues_and_publishers_have_the_expected_states(
    board: Any, offset: int, state: State, attempts: int, queue: str
) -> None:
    board.package()
    board.announce("edge-1", offset, state, attempts=attempts)
    assert board.row("edge-1").queue == queue
    assert publisher(board).state == queue


@pytest.mark.proves("F58", "W18")
def test_errors_do_not_keep_a_publisher_from_being_idle(board: Any) -> None:
    board.package()
    board.announce("edge-1", 1)
    board.tell("edge-1", 1, Status.REMOVED_FAILED)
    assert (board.row("edge-1").errors, publisher(board).state) == (1, "idle")


@pytest.mark.proves("W29")
def test_the_lag_of_each_subscriber_is_shown_in_packages_bytes_and_seconds(board: Any) -> None:
    board.package(length=100)
    board.pass_time(50)
    board.package(length=10)
    board.pass_time(7)
    board.announce("edge-1", 0)
    board.announce("edge-2", 1)
    lags = {row.name: (row.lag_packages, row.lag_bytes, round(row.lag_s)) for row in board.status().subscribers}
    assert lags == {"edge-1": (2, 110, 57), "edge-2": (1, 10, 7)}
