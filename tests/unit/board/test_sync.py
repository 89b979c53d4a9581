"""The board without an event loop."""

import inspect
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import callboard
from callboard.board.publisher import Publisher as AsyncPublisher
from callboard.board.subscriber import Subscriber as AsyncSubscriber
from callboard.errors import ConfigError
from callboard.sync import (
    BoardJobs,
    Callboard,
    LeaderLease,
    Member,
    Publisher,
    Reacting,
    Subscriber,
    Topology,
    Worker,
)
from tests.refused import refused


@pytest.fixture
def site(tmp_path):
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "a.txt").write_text("one")
    return tmp_path / "site"


def test_a_package_is_imported_and_no_thread_is_left(tmp_path, site):
    before = threading.active_count()
    with Callboard("memory:", base=tmp_path) as board:
        package = board.publisher("site").publish("./site")
        with board.subscriber("edge-1", into="./out") as edge:
            edge.caught_up()
            assert edge.report().offset == package.offset
        assert (tmp_path / "out" / "a.txt").read_text() == "one"
        assert board.status().subscribers[0].liveness == "stopped"
    assert threading.active_count() == before


def test_errors_are_raised_and_the_board_keeps_working(tmp_path, site):
    with Callboard("memory:", base=tmp_path) as board:
        with refused("not_found"):
            board.publisher().publish("./nowhere")
        assert board.publisher().publish("./site").kind == "ADD"


def test_a_board_can_be_used_from_several_threads(tmp_path, site):
    with Callboard("memory:", base=tmp_path) as board, ThreadPoolExecutor(8) as threads:
        places = [f"/p{number % 3}" for number in range(20)]
        published = list(threads.map(lambda at: board.publisher(at[1:]).publish("./site", at=at, full=True), places))
        offsets = [package.offset for package in published]
        assert len(set(offsets)) == 20


def test_a_board_that_is_not_open_raises_an_error(tmp_path):
    board = Callboard("memory:", base=tmp_path)
    with pytest.raises(ConfigError, match="not open"):
        board.status()
    with board:
        pass
    with pytest.raises(ConfigError, match="not open"):
        board.status()


def test_a_board_that_cannot_be_opened_leaves_no_thread(tmp_path):
    before = threading.active_count()
    with pytest.raises(callboard.CallboardError), Callboard("sqlite:///./none", base=tmp_path, create=False):
        pass
    assert threading.active_count() == before


@pytest.mark.parametrize("log", ["memory:", "sqlite:///./board"])
def test_a_board_can_be_opened_again_but_not_twice_at_once(tmp_path, site, log):
    board = Callboard(log, base=tmp_path)
    for _ in range(2):
        with board:
            with pytest.raises(ConfigError, match="already open"), board:
                pass
            board.publisher().publish("./site")
            blobs = board._asynchronous.settings.blobs
        assert not (log == "memory:" and Path(blobs).exists())


@pytest.mark.parametrize(
    ("twin", "asynchronous"),
    [
        (Callboard, callboard.Callboard),
        (Publisher, AsyncPublisher),
        (Subscriber, AsyncSubscriber),
        (Member, callboard.Member),
        (LeaderLease, callboard.LeaderLease),
        (Topology, callboard.Topology),
        (BoardJobs, callboard.BoardJobs),
        (Worker, callboard.Worker),
        (Reacting, callboard.Reacting),
    ],
)
def test_the_synchronous_api_has_every_method_with_its_signature_and_docstring(twin, asynchronous):
    for name, method in inspect.getmembers(asynchronous, lambda it: inspect.iscoroutinefunction(inspect.unwrap(it))):
        if name.startswith("_") or (twin, name) in INTERNAL:
            continue
        assert inspect.signature(getattr(twin, name)) == inspect.signature(method), name
        assert getattr(twin, name).__doc__ == method.__doc__


INTERNAL = {
    (Callboard, "close"),
    (Callboard, "ensure_topics"),
    (Publisher, "start"),
    (BoardJobs, "add_within"),  # takes another sort of connection
    (BoardJobs, "add_all_within"),
}
"""What an asynchronous board has for its own parts, and what ``with`` does."""
