"""Forgetting a subscriber that never comes back."""

from typing import Any

import pytest

from callboard.board.command.forgetting import forget_subscriber
from callboard.errors import RequestRefused
from callboard.messages.distribution.topic_messages import ForgottenMessage, State
from callboard.messages.headers import open_record
from tests.refused import refused


def order(board: Any, name: str, *, force: bool = False) -> None:
    board.simulation.run(forget_subscriber(board.context, name, reason="scaled down", author="kim", force=force))


def names(board: Any) -> list[str]:
    return [row.name for row in board.status().subscribers]


@pytest.mark.proves("W26", "W38")
def test_one_that_is_forgotten_leaves_every_view_until_it_speaks_again(board: Any) -> None:
    board.package()
    board.announce("edge-1", 0, State.STOPPED)
    board.announce("edge-2", 1)
    order(board, "edge-1")
    assert names(board) == ["edge-2"]
    assert [each.left_out for each in board.status().publishers] == [()]
    board.start()
    assert names(board) == ["edge-2"]
    board.announce("edge-1", 0)
    assert names(board) == ["edge-1", "edge-2"]


def test_it_is_on_the_log_who_forgot_whom_and_why(board: Any) -> None:
    board.announce("edge-1", 0, State.STOPPED)
    order(board, "edge-1")
    record = board.simulation.run(board.log.read(board.topics.discovery, 2))[0]
    said = open_record(record, ForgottenMessage)
    assert (said.subscriber, said.author, said.reason) == ("edge-1", "kim", "scaled down")


def test_one_that_is_live_is_not_forgotten(board: Any) -> None:
    board.announce("edge-1", 0)
    with pytest.raises(RequestRefused, match="process 4711 on web-7"):
        order(board, "edge-1")


def test_by_force_any_name_is_forgotten_and_back_with_its_next_word(board: Any) -> None:
    board.announce("edge-1", 0)
    order(board, "edge-1", force=True)
    order(board, "edge-2", force=True)
    assert names(board) == []
    board.announce("edge-1", 0)
    assert names(board) == ["edge-1"]


def test_one_that_nobody_heard_of_is_not_forgotten(board: Any) -> None:
    with refused("unknown_name"):
        order(board, "edge-1")


@pytest.mark.proves("F60", "F63", "W26")
def test_silence_and_restarts_make_nobody_vanish(board: Any) -> None:
    board.announce("edge-1", 0)
    for hours, liveness in ((0.1, "silent"), (2, "gone"), (200, "gone")):
        board.stop()
        board.pass_time(hours * 3600)
        (row,) = board.status().subscribers
        assert (row.name, row.liveness) == ("edge-1", liveness)
        assert row.seen_s >= hours * 3600
