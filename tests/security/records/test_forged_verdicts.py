"""Forged statuses of packages on the log: none opens the gate of a staged subscriber, or hides a genuine status."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from callboard.board.read.queues.queues import errors
from callboard.messages.distribution.topic_messages import PackageStatusMessage, State, Status
from callboard.messages.headers import new_record
from callboard.messages.record import Record
from tests.unit.actors.subscriber.staging.test_golden_watcher import Watching, said, told
from tests.unit.board.status.conftest import Board as StatusBoard

HUGE = 1 << 62
MAX = (1 << 63) - 1


def verdicts(it: Watching, offset: int) -> list[tuple[int, Status]]:
    it.want(offset)
    return [(status.offset, status.status) for status in it.read().verdicts]


FORGERIES = {
    "an instance that was never announced": told(4, 1, instance="false"),
    "no instance": told(4, 1, instance=""),
    "a huge sequence": told(4, HUGE, instance="false"),
}


@pytest.mark.parametrize("forged", FORGERIES.values(), ids=FORGERIES)
def test_a_status_of_an_instance_that_never_held_the_name_opens_no_gate(forged: PackageStatusMessage) -> None:
    assert verdicts(Watching(forged, announcements=()), 4) == []
    assert verdicts(Watching(told(3, 1), forged), 4) == []
    it = Watching(told(3, 1), told(4, 2, Status.HELD), forged)
    assert verdicts(it, 4) == [(4, Status.HELD)], "nor replaces a genuine one"


def test_a_status_of_an_instance_whose_claim_was_refused_opens_no_gate() -> None:
    it = Watching(told(4, 1, instance="false"), announcements=(said(), said(instance="false", offset=9)))
    assert verdicts(it, 4) == []


def test_the_genuine_status_counts_although_a_forged_one_came_first() -> None:
    it = Watching(told(4, 1, Status.HELD, instance="false"))
    assert verdicts(it, 4) == []
    it.statuses.append(told(4, 2))
    assert [(status.offset, status.status) for status in it.read().verdicts] == [(4, Status.IMPORTED)]


def test_statuses_of_a_former_repository_count_up_to_where_the_present_one_began() -> None:
    statuses = (told(2, 7, instance="former"), told(5, 8, instance="former"))
    it = Watching(*statuses, announcements=(said(offset=3),))
    assert verdicts(it, 1) == [(2, Status.IMPORTED)], "the present one has not reported the fifth yet"


def test_a_status_read_before_its_author_is_known_counts_once_it_is_known() -> None:
    it = Watching(told(7, 1, instance="new"))
    assert verdicts(it, 7) == []
    it.announcements += [said(State.STOPPED), said(instance="new")]
    assert [status.offset for status in it.read().verdicts] == [7]


@pytest.mark.parametrize("sequence", [HUGE, MAX, 3])
@pytest.mark.parametrize("time_ns", [0, HUGE, MAX])
def test_no_forged_sequence_or_time_hides_later_statuses_of_the_golden_subscriber(sequence: int, time_ns: int) -> None:
    forged = replace(told(4, sequence, Status.HELD), time_ns=time_ns)
    it = Watching(told(3, 1), forged, replace(told(4, 2), time_ns=60))
    assert verdicts(it, 4) == [(4, Status.IMPORTED)]


# Error queues.


@pytest.fixture
def board(tmp_path: Path) -> Iterator[StatusBoard]:
    made = StatusBoard(tmp_path)
    yield made
    made.close()


def tell(board: StatusBoard, offset: int, sequence: int, status: Status, **fields: Any) -> Record:
    """A status of the subscriber ``edge``, as its status sender writes it."""
    message = PackageStatusMessage(
        subscriber_instance="true", subscriber="edge", publisher="site", offset=offset, status=status,
        sequence=sequence, time_ns=fields.pop("time_ns", board.now_ns),
    )  # fmt: skip
    new = new_record(
        message, record_id=f"true/{sequence}", time_ns=fields.pop("header_ns", message.time_ns), producer="edge/true"
    )
    (at,) = board.simulation.run(board.log.append(board.topics.status, [new]))
    return new.at(at, board.now_ns)


def failures(board: StatusBoard) -> list[int]:
    view = board.simulation.run(errors(board.context))
    assert view.size == len(view.items)
    return [package.offset for package in view.items]


@pytest.mark.parametrize("offset", [HUGE, MAX, 40, -5])
def test_a_failure_at_a_package_that_does_not_exist_is_not_shown(board: StatusBoard, offset: int) -> None:
    for _ in range(3):
        board.package()
    board.announce("edge", 3, subscriber_instance="true")
    tell(board, 2, 1, Status.REMOVED_FAILED)
    tell(board, offset, 2, Status.REMOVED_FAILED)
    assert failures(board) == [2]
    assert board.row("edge").errors == 1


@pytest.mark.parametrize("sequence", [HUGE, MAX, 5])
@pytest.mark.parametrize("time_ns", [None, HUGE, MAX])
def test_no_forged_number_or_time_hides_later_failures(board: StatusBoard, sequence: int, time_ns: int | None) -> None:
    for _ in range(5):
        board.package()
    tell(board, 1, 1, Status.REMOVED_FAILED)
    board.pass_time(1.0)
    dated = {} if time_ns is None else {"time_ns": time_ns, "header_ns": time_ns}
    tell(board, 2, sequence, Status.IMPORTED, **dated)
    board.pass_time(3700.0)
    tell(board, 3, 2, Status.REMOVED_FAILED)
    tell(board, 4, 3, Status.REMOVED_FAILED)
    assert failures(board) == [1, 3, 4]


def test_a_sequence_number_that_jumps_ahead_hides_no_failure(board: StatusBoard) -> None:
    for _ in range(5):
        board.package()
    tell(board, 1, 1, Status.REMOVED_FAILED)
    tell(board, 2, HUGE, Status.IMPORTED, time_ns=MAX, header_ns=MAX)
    tell(board, 3, 2, Status.REMOVED_FAILED)
    assert failures(board) == [1, 3]
