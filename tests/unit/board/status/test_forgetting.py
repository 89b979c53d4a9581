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
def test_a_forgotten_subscriber_leaves_every_view_until_it_announces_itself_again(board: Any) -> None:
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


def test_the_log_records_who_forgot_which_subscriber_and_why(board: Any) -> None:
    board.announce("edge-1", 0, State.STOPPED)
    order(board, "edge-1")
    record = board.simulation.run(board.log.read(board.topics.discovery, 2))[0]
    said = open_record(record, ForgottenMessage)
    assert (said.subscriber, said.author, said.reason) == ("edge-1", "kim", "scaled down")


def test_a_live_subscriber_cannot_be_forgotten(board: Any) -> None:
    board.announce("edge-1", 0)
    with pytest.raises(RequestRefused, match="process 4711 on web-7"):
        order(board, "edge-1")


def test_any_name_can_be_forgotten_by_force_until_its_next_announcement(board: Any) -> None:
    board.announce("edge-1", 0)
    order(board, "edge-1", force=True)
    order(board, "edge-2", force=True)
    assert names(board) == []
    board.announce("edge-1", 0)
    assert names(board) == ["edge-1"]


def test_an_unknown_subscriber_cannot_be_forgotten(board: Any) -> None:
    with refused("unknown_name"):
        order(board, "edge-1")


@pytest.mark.proves("F60", "F63", "W26")
def test_a_subscriber_does_not_disappear_through_silence_or_restarts(board: Any) -> None:
    board.announce("edge-1", 0)
    for hours, liveness in ((0.1, "silent"), (2, "gone"), (200, "gone")):
        board.stop()
        board.pass_time(hours * 3600)
        (row,) = board.status().subscribers
        assert (row.name, row.liveness) == ("edge-1", liveness)
        assert row.seen_s >= hours * 3600
