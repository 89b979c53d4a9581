"""A service without an event loop is a member, too."""

import threading
from pathlib import Path

import pytest

from callboard import LeadershipLost, RequestRefused, TopologyEvent
from callboard.sync import Callboard
from tests.unit.board.member.clusters import QUICK


def test_a_service_without_an_event_loop_leads_and_is_told_of_changes(tmp_path: Path) -> None:
    told, changed = list[str](), threading.Event()

    def tell(event: TopologyEvent) -> None:
        told.append(event.kind)
        if event.kind == "topology_changed":
            changed.set()

    with Callboard("memory:", base=tmp_path) as board, board.member(instance="a", **QUICK) as first:
        assert first.add_listener(tell)
        first.settled()
        with first.leader_lease() as token:
            assert first.holds(token)
            assert '"final": true' in first.descriptor()
            with board.member(instance="b", properties={"x": "1"}, **QUICK) as second:
                second.settled(timeout_s=30)
                assert changed.wait(30)
                assert [each.instance for each in first.topology().instances] == ["a", "b"]
                second.add_provider(["y"], str.upper)
                second.set_properties({"z": "3"})
                assert second.topology().local_instance.properties == {"y": "Y", "z": "3"}
                assert not second.is_leader()
                assert next(iter(second.watch(-1))).kind == "founded"
        assert told[:3] == ["topology_init", "topology_changing", "topology_changed"]


def test_an_asynchronous_listener_cannot_block_the_event_loop_that_it_runs_on(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    told = threading.Event()
    with Callboard("memory:", base=tmp_path) as board, board.member(instance="a", **QUICK) as member:

        async def tell(_: TopologyEvent) -> None:
            try:
                board.status()
            finally:
                told.set()

        member.add_listener(tell)
        assert told.wait(30)
    assert "a blocking call on the board's own event loop" in caplog.text


def test_the_end_of_an_inner_body_does_not_end_the_membership_of_the_outer(tmp_path: Path) -> None:
    with Callboard("memory:", base=tmp_path) as board, board.member(instance="a", **QUICK) as member:
        with pytest.raises(RequestRefused, match="this member is started already"), member:
            pass
        assert member.settled().leader is not None


def test_a_lease_that_was_lost_is_told_at_the_end_of_the_body(tmp_path: Path) -> None:
    with (
        Callboard("memory:", base=tmp_path) as board,
        board.member(instance="a", **QUICK) as first,
        board.member(instance="b", **QUICK) as second,
    ):
        second.settled()
        first.settled()
        lease = (first if first.is_leader() else second).leader_lease()
        holder, other = (first, "b") if first.is_leader() else (second, "a")
        token = lease.acquire()
        assert holder.holds(token)
        board.topology.transfer(other)
        while holder.holds(token):
            pass
        with pytest.raises(LeadershipLost, match="no longer leads as Token"):
            lease.release()
