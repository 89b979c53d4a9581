"""Queues and error queues as the board tells them."""

from typing import Any

import pytest

from callboard.board.page import Page
from callboard.board.read.queues import queues
from callboard.board.views import FailedPackage, QueueView
from callboard.errors import RequestRefused
from callboard.messages.distribution.topic_messages import Kind, PackageMessage, State, Status
from tests.refused import refused


def queue(board: Any, name: str, publisher: str = "", cursor: str = "", limit: int = 100) -> QueueView:
    found = board.simulation.run(queues.queue(board.context, name, publisher, cursor=cursor, limit=limit))
    assert isinstance(found, QueueView)
    return found


def errors(board: Any, name: str = "") -> Page[FailedPackage]:
    found = board.simulation.run(queues.errors(board.context, name))
    assert isinstance(found, Page)
    return found


@pytest.mark.proves("F27", "F28", "F29", "F46", "W17")
def test_a_queue_begins_after_the_last_processed_package_and_is_in_the_order_of_the_log(board: Any) -> None:
    offsets = [board.package() for _ in range(5)]
    board.announce("edge-1", offsets[1])
    assert [package.offset for package in queue(board, "edge-1").items] == offsets[2:]


@pytest.mark.proves("F28", "F30")
def test_a_new_package_is_in_the_queue_at_once(board: Any) -> None:
    board.announce("edge-1", board.package())
    assert queue(board, "edge-1").size == 0
    board.package()
    assert queue(board, "edge-1").size == 1
    board.package()
    assert board.row("edge-1").lag_packages == 2


@pytest.mark.proves("F26", "F42")
def test_a_queue_entry_describes_its_package(board: Any) -> None:
    written_ns = board.now_ns
    offset = board.package(path="/blog", deep_paths=("/blog",), user="kim")
    board.announce("edge-1", offset - 1)
    (entry,) = queue(board, "edge-1").items
    assert (entry.entry, entry.topic) == (f"{board.topics.package}@{offset}", board.topics.package)
    assert (entry.kind, entry.paths, entry.deep_paths, entry.user) == ("ADD", ("/blog",), ("/blog",), "kim")
    assert entry.time_ns == written_ns
    assert entry.id


@pytest.mark.proves("F43", "R16")
def test_the_id_of_an_entry_leads_back_to_it_and_a_malformed_one_is_refused(board: Any) -> None:
    assert queues.entry_offset("callboard.package", queues.entry_id("callboard.package", 17)) == 17
    for wrong in ("", "17", "callboard.package", "callboard.package@", "callboard.package@x", "other@17", "a@b@17"):
        with pytest.raises(RequestRefused, match="an entry looks like"):
            queues.entry_offset("callboard.package", wrong)


@pytest.mark.proves("F45")
def test_only_the_head_has_attempts_and_an_error(board: Any) -> None:
    first = board.package()
    board.package()
    said = {"attempts": 2, "last_error": "no space", "head_offset": first}
    board.announce("edge-1", first - 1, State.RETRYING, **said)
    assert [(one.attempts, one.error) for one in queue(board, "edge-1").items] == [(2, "no space"), (0, "")]
    assert [one.attempts for one in queue(board, "edge-1", cursor=queue(board, "edge-1", limit=1).cursor).items] == [0]


@pytest.mark.proves("F45")
def test_for_older_versions_the_first_package_of_the_queue_is_its_head(board: Any) -> None:
    first = board.package("news")
    board.package("site")
    board.announce("edge-1", first - 1, State.RETRYING, attempts=2, last_error="no space")
    assert [one.attempts for one in queue(board, "edge-1").items] == [2, 0]
    assert [one.attempts for one in queue(board, "edge-1", "site").items] == [0]


@pytest.mark.proves("F47", "W25")
def test_reading_queues_writes_nothing(board: Any) -> None:
    for _ in range(20):
        board.package()
    board.announce("edge-1", 0)
    board.tell("edge-1", 1, Status.REMOVED_FAILED)
    before = board.log.appends
    board.start()
    queue(board, "edge-1")
    errors(board)
    board.status()
    board.pass_time(600)
    queue(board, "edge-1")
    assert board.log.appends == before


@pytest.mark.proves("F37", "F38", "F39", "W16", "W24", "W25", "W26")
def test_after_a_restart_all_queues_are_there_at_once_without_new_records(board: Any) -> None:
    for _ in range(20):
        board.package()
    board.announce("edge-1", 5)
    began_s = board.simulation.loop.time()
    board.start()
    assert queue(board, "edge-1").size == 15
    assert board.simulation.loop.time() - began_s < 2


@pytest.mark.proves("F37", "W24", "R6")
def test_the_queues_of_an_empty_log_are_empty(board: Any) -> None:
    board.announce("edge-1", -1)
    assert queue(board, "edge-1").size == 0


@pytest.mark.proves("F40", "W24")
def test_queues_are_the_same_for_thirteen_hours(board: Any) -> None:
    for _ in range(20):
        board.package()
    for _ in range(13):
        board.announce("edge-1", 5)
        assert queue(board, "edge-1").size == 15
        board.pass_time(3600)


@pytest.mark.proves("F31", "F35")
def test_a_trimmed_prefix_is_neither_counted_nor_read_again(board: Any) -> None:
    for _ in range(50):
        board.package()
    board.trim(below=31)
    board.announce("edge-1", -1)
    assert queue(board, "edge-1").size == 20
    board.log.reads.clear()
    assert queue(board, "edge-1").size == 20
    assert [read for read in board.log.reads if read[0] == board.topics.package] == []


@pytest.mark.proves("F31", "F32", "F33")
def test_many_concurrent_requests_read_the_older_packages_once(board: Any) -> None:
    for _ in range(400):
        board.package()
    for number in range(10):
        board.announce(f"edge-{number}", number)
    board.start()
    board.log.reads.clear()
    rows = board.status().subscribers
    assert sorted(row.lag_packages for row in rows) == [400 - number for number in range(9, -1, -1)]
    reads = [found for topic, _, found in board.log.reads if topic == board.topics.package and found]
    assert sorted(reads) == [1, 400], "one of the packages, and a look at how old the oldest is"


@pytest.mark.proves("F40", "W38")
def test_packages_that_the_log_lost_leave_the_queues(board: Any) -> None:
    for _ in range(20):
        board.package()
    board.announce("edge-1", -1)
    assert queue(board, "edge-1").size == 20
    board.trim(below=11)
    board.pass_time(61)
    assert queue(board, "edge-1").size == 10


@pytest.mark.proves("F36")
def test_test_packages_are_in_no_queue(board: Any) -> None:
    board.announce("edge-1", 0)
    test = PackageMessage(publisher_instance="p", publisher="site", package_id="t", kind=Kind.TEST)
    board.write(board.topics.package, test)
    assert queue(board, "edge-1").size == 0


@pytest.mark.proves("F54", "W18")
def test_errors_of_trimmed_packages_are_marked_and_counted_as_listed(board: Any) -> None:
    for _ in range(9):
        board.package()
    for offset in (3, 8):
        board.tell("edge-1", offset, Status.REMOVED_FAILED, "no space", attempts=4, package_id="p")
    board.trim(5)
    view = errors(board)
    assert [(error.offset, error.expired) for error in view.items] == [(3, True), (8, False)]
    assert view.size == len(view.items)
    assert view.as_of.offset == board.simulation.run(board.log.bounds(board.topics.status)).end
    assert {(error.reason, error.attempts, error.status) for error in view.items} == {("no space", 4, "given_up")}


@pytest.mark.proves("F51", "W18")
def test_a_subscriber_named_like_an_error_queue_is_reached(board: Any) -> None:
    offset = board.package()
    for name in ("edge", "edge-error"):
        board.announce(name, offset)
        board.tell(name, offset, Status.REMOVED_FAILED, f"of {name}")
    assert [error.reason for error in errors(board, "edge").items] == ["of edge"]
    assert [error.reason for error in errors(board, "edge-error").items] == ["of edge-error"]
    assert queue(board, "edge-error").size == 0


def test_an_unknown_subscriber_has_no_queue(board: Any) -> None:
    with refused("unknown_name"):
        queue(board, "edge-1")


def test_the_queue_of_several_followed_publishers_is_in_the_order_of_the_log(board: Any) -> None:
    offsets = {board.package(publisher): publisher for publisher in ("site", "shop", "news", "site") * 5}
    first = min(offsets)
    board.announce("edge-1", first, follows=("site", "shop"))
    due = [offset for offset, publisher in offsets.items() if offset > first and publisher in ("site", "shop")]
    whole = queue(board, "edge-1")
    assert (whole.size, [package.offset for package in whole.items]) == (len(due), due)
    assert whole.length == sum(queue(board, "edge-1", of).length for of in ("site", "shop"))
    with pytest.raises(RequestRefused, match="does not follow 'news', only site, shop"):
        queue(board, "edge-1", "news")
