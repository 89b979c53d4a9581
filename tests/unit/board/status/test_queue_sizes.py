"""How much a subscriber has to fetch, of what is for it and still there."""

from typing import Any

import pytest

from callboard.board.command.clearing import clear
from callboard.board.views import CohortQueue
from tests.unit.board.status.test_queues import queue

LARGE = {"blobs": ("9f86", "d081"), "total_bytes": 600_000_134, "length": 134}


def cohort(board: Any, name: str = "persisted") -> CohortQueue:
    (site,) = [each for each in board.status().publishers if each.name == "site"]
    found = getattr(site, name)
    assert isinstance(found, CohortQueue)
    return found


def test_every_size_includes_content_in_the_blob_store(board: Any) -> None:
    board.package(length=10)
    board.announce("edge-1", 0, editable=True)
    board.package(**LARGE)
    shown = queue(board, "edge-1")
    assert [entry.length for entry in shown.items] == [10, 600_000_134]
    assert shown.length == board.row("edge-1").lag_bytes == cohort(board).length == 600_000_144


def test_packages_for_others_are_in_no_figure_of_a_subscriber(board: Any) -> None:
    first = board.package(length=1)
    for name in ("edge-1", "edge-2"):
        board.announce(name, first - 1, editable=True)
    theirs = [board.package(length=10, recipients=("edge-2",)) for _ in range(3)]
    mine = board.package(length=100, recipients=("edge-1", "edge-2"))
    for own, offsets, length in (("edge-1", [first, mine], 101), ("edge-2", [first, *theirs, mine], 131)):
        shown = queue(board, own)
        assert [entry.offset for entry in shown.items] == offsets
        assert (shown.size, shown.length) == (len(offsets), length)
        row = board.row(own)
        assert (row.lag_packages, row.lag_bytes) == (len(offsets), length)
    second = queue(board, "edge-1", cursor=queue(board, "edge-1", limit=1).cursor)
    assert [entry.offset for entry in second.items] == [mine]
    board.announce("edge-1", first, editable=True)
    assert board.row("edge-1").queue == "running"
    board.announce("edge-1", mine, editable=True)
    board.package(recipients=("edge-2",))
    assert (board.row("edge-1").queue, board.row("edge-1").lag_packages) == ("idle", 0)


def test_the_cohort_queue_is_the_longest_one_of_its_slowest_subscribers(board: Any) -> None:
    board.announce("edge-1", 0, editable=True)
    board.announce("edge-2", 9, editable=True)
    board.package(length=10, recipients=("edge-2",))
    board.package(length=100)
    assert (cohort(board).straggler, cohort(board).size, cohort(board).length) == ("edge-1", 1, 100)
    board.announce("edge-2", 0, editable=True)
    assert (cohort(board).straggler, cohort(board).size, cohort(board).length) == ("edge-2", 2, 110)


def test_clearing_the_first_packages_counts_only_those_for_the_subscriber(board: Any) -> None:
    board.announce("edge-1", 0, editable=True)
    offsets = [board.package(recipients=("edge-2",) if number % 2 else ()) for number in range(8)]
    board.start()
    cleared = board.simulation.run(clear(board.context, "edge-1", first=3, timeout_s=1))
    assert cleared.offset == offsets[4]
    everything = board.simulation.run(clear(board.context, "edge-1", timeout_s=1))
    assert everything.offset == offsets[6]


@pytest.mark.parametrize("below", [2, 5])
def test_trimmed_packages_are_in_no_view(board: Any, below: int) -> None:
    board.announce("edge-1", 0, editable=True)
    for _ in range(4):
        board.package(length=10)
    assert (board.row("edge-1").lag_packages, cohort(board).size, queue(board, "edge-1").size) == (4, 4, 4)
    board.trim(below)
    left = 5 - below
    row, slowest, shown = board.row("edge-1"), cohort(board), queue(board, "edge-1")
    assert (row.lag_packages, row.lag_bytes) == (slowest.size, slowest.length) == (left, 10 * left)
    assert (shown.size, shown.length) == (left, 10 * left)
    assert [entry.offset for entry in shown.items] == [*range(below, 5)]
    assert bool(shown.oldest_s) is bool(left)
