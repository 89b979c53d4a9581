"""The cluster as an operator sees it."""

import asyncio
from pathlib import Path

import pytest

from callboard.backends.log import Retention
from callboard.messages.record import NewRecord
from callboard.messages.topology.cluster_state import AckPolicy
from tests.unit.actors.topology.control_topic import LEASE_MS
from tests.unit.board.topology.cluster import TOPIC, Cluster, Stage, staged


def test_a_log_without_a_cluster_says_so():
    async def work(stage: Stage) -> None:
        found = await stage.board.topology.view()
        assert (found.condition, found.members, found.topic) == ("none", (), TOPIC)
        await stage.log.ensure(TOPIC)
        assert (await stage.board.topology.view()).condition == "none"

    staged(work, None)


@pytest.mark.parametrize("on_disk", [False, True], ids=["memory", "sqlite"])
def test_members_are_shown_in_their_order_with_leader_lease_and_tags(on_disk: bool, tmp_path: Path):
    cluster = Cluster()
    cluster.join("b", tags=("gpu",), priority=2)
    cluster.join("a", properties=(("zone", "east"),))
    cluster.settle()
    cluster.suspect("b", "a")
    cluster.renew("b", after_ms=2000, read_to=cluster.state.offset)

    async def work(stage: Stage) -> None:
        found = await stage.board.topology.view()
        b, a = found.members
        assert (found.condition, found.leader, found.epoch) == ("settled", "b", cluster.state.view.epoch)
        assert (b.instance, b.is_leader, b.tags, b.priority) == ("b", True, ("gpu",), 2)
        assert (a.instance, a.is_leader, a.properties, a.suspected_by) == ("a", False, {"zone": "east"}, ("b",))
        assert b.lease_left_s == LEASE_MS / 1000
        assert 7.9 < a.lease_left_s < 8.0
        assert b.lag_s == 0
        assert found.notes == ("other members cannot reach a",)

    staged(work, cluster, tmp_path if on_disk else None)


@pytest.mark.proves("T36")
def test_a_view_that_is_not_settled_names_whom_it_waits_for():
    cluster = Cluster("a", "b")
    cluster.ack("a")
    cluster.passes(3000, "a", "b")

    async def work(stage: Stage) -> None:
        found = await stage.board.topology.view()
        assert (found.condition, found.waiting_for, found.settled) == ("unsettled", ("b",), -1)
        assert 2.4 < found.unsettled_s < 3.1
        cluster.ack("b")
        await stage.write()
        found = await stage.board.topology.view()
        assert (found.condition, found.waiting_for, found.unsettled_s) == ("settled", (), 0)
        assert 2.4 < found.barrier_s < 3.1

    staged(work, cluster)


def test_a_view_that_settled_without_a_member_is_degraded_and_names_it():
    cluster = Cluster("a", "b", ack_policy=AckPolicy.PROCEED)
    cluster.ack("a")
    cluster.passes(12_000, "a", "b")

    async def work(stage: Stage) -> None:
        found = await stage.board.topology.view()
        assert (found.condition, found.waiting_for) == ("degraded", ("b",))

    staged(work, cluster)


def test_a_cluster_that_everyone_left_is_empty():
    cluster = Cluster("a")
    cluster.leave("a")

    async def work(stage: Stage) -> None:
        found = await stage.board.topology.view()
        assert (found.condition, found.cluster_id, found.leader) == ("empty", "c", "")

    staged(work, cluster)


@pytest.mark.proves("T94")
def test_lag_is_the_age_of_the_oldest_record_that_was_not_read():
    cluster = Cluster("a", "b")
    read_to = cluster.state.offset
    cluster.passes(4000, "a")
    cluster.renew("b", read_to=read_to)

    async def work(stage: Stage) -> None:
        a, b = (await stage.board.topology.view()).members
        assert a.lag_s == -1  # its renewals do not say what it read
        assert 3.9 < b.lag_s < 4.1

    staged(work, cluster)


def test_silence_of_all_members_is_noted():
    cluster = Cluster("a")

    async def work(stage: Stage) -> None:
        stage.now_ms += 60_000
        found = await stage.board.topology.view()
        assert found.last_record_s == 60
        assert "no member has written for 60 s" in found.notes[0]
        assert found.members[0].lease_left_s > 0  # the lease clock stands still

    staged(work, cluster)


def test_after_a_record_that_is_too_new_the_members_are_those_before_it():
    cluster = Cluster("a")
    cluster.put_record(NewRecord(payload=b"", headers=(("type", "JoinMessage"), ("version", "9.0"))))
    cluster.leave("a")

    async def work(stage: Stage) -> None:
        found = await stage.board.topology.view()
        assert (found.condition, [each.instance for each in found.members]) == ("too_new", ["a"])
        assert "offset 3 is too new" in found.notes[0]

    staged(work, cluster)


def test_garbage_changes_nothing_and_is_counted():
    cluster = Cluster("a")
    cluster.settle()
    for headers in ((), (("type", "x" * 100_000),), (("type", "AckMessage"), ("version", "1.4"))):
        cluster.put_record(NewRecord(payload=b"\xff", headers=headers))

    async def work(stage: Stage) -> None:
        found = await stage.board.topology.view()
        assert found.condition == "settled"
        assert found.refused == {"unknown_type": 2, "unreadable": 1}

    staged(work, cluster)


def test_the_view_is_read_from_the_newest_snapshot_that_holds():
    cluster = Cluster("a", "b")
    cluster.settle()
    cluster.snapshot("a")
    cluster.leave("b")
    taken = cluster.state.offset
    later = NewRecord(payload=b"", headers=(("type", "SnapshotMessage"),))
    cluster.put_record(later)

    async def work(stage: Stage) -> None:
        await stage.log.trim(TOPIC, Retention(below_offset=taken - 1))
        found = await stage.board.topology.view()
        assert [each.instance for each in found.members] == ["a"]
        assert found.refused == {"unreadable": 1}

    staged(work, cluster)


def test_a_snapshot_of_the_future_is_not_believed():
    ahead = Cluster("a", "b")
    ahead.passes(10_000, "a", "b")
    cluster = Cluster("a")
    cluster.snapshot("a", ahead.state)
    cluster.leave("a")

    async def work(stage: Stage) -> None:
        assert (await stage.board.topology.view()).condition == "empty"

    staged(work, cluster)


def test_a_snapshot_by_a_stranger_is_not_believed():
    cluster = Cluster("a")
    cluster.snapshot("b", Cluster("evil").state)

    async def work(stage: Stage) -> None:
        found = await stage.board.topology.view()
        assert [each.instance for each in found.members] == ["a"]

    staged(work, cluster)


def test_a_trimmed_topic_without_a_snapshot_is_unknown():
    cluster = Cluster("a", "b")
    cluster.passes(2000, "a", "b")

    async def work(stage: Stage) -> None:
        await stage.log.trim(TOPIC, Retention(below_offset=5))
        assert (await stage.board.topology.view()).condition == "unknown"

    staged(work, cluster)


def test_a_board_that_looks_again_reads_only_what_is_new():
    cluster = Cluster("a")

    async def work(stage: Stage) -> None:
        await stage.board.topology.view()
        reads = list[int]()
        read = stage.log.read

        async def counting(topic: str, start: int, *more: int) -> list:  # type: ignore[type-arg]
            reads.append(start)
            return await read(topic, start, *more)

        stage.log.read = counting  # type: ignore[method-assign, assignment]
        cluster.join("b")
        await stage.write()
        views = await asyncio.gather(stage.board.topology.view(), stage.board.topology.view())
        assert [len(view.members) for view in views] == [2, 2]
        assert min(reads) == 3

    staged(work, cluster)


@pytest.mark.proves("T94")
def test_evictions_returns_and_refusals_are_counted():
    cluster = Cluster("a", "b")
    cluster.settle()
    cluster.propose("a", "b")  # its lease runs
    cluster.passes(LEASE_MS, "a")
    cluster.propose("a", "b")
    cluster.renew("b", "b")  # so it was alive
    cluster.restart("b")
    cluster.suspect("a", "b")
    cluster.suspect("a", "b", withdrawn=True)

    async def work(stage: Stage) -> None:
        found = await stage.board.topology.view()
        assert (found.evictions, found.rejoins, found.false_suspicions) == (1, 1, 2)
        assert found.refused == {"lease_runs": 1, "not_a_member": 2}

    staged(work, cluster)
