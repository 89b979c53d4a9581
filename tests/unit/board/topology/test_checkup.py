"""What doctor finds in a cluster."""

import pytest

from callboard.backends.examination import Finding, Level
from callboard.backends.log import Retention
from callboard.board.topology.checkup import examine_cluster
from callboard.messages.headers import new_record
from callboard.messages.record import NewRecord
from callboard.messages.topology.cluster_state import AckPolicy
from callboard.messages.topology.control_messages import RenewMessage
from tests.unit.actors.topology.control_topic import LEASE_MS
from tests.unit.board.topology.cluster import TOPIC, Cluster, Stage, staged


def examined(cluster: Cluster | None, later_ms: int = 0) -> dict[str, Level]:
    """What is found, and how urgent it is."""
    found = list[Finding]()

    async def work(stage: Stage) -> None:
        stage.now_ms += later_ms
        found.extend(await examine_cluster(stage.board.context))

    staged(work, cluster)
    assert all(each.fix for each in found if each.level is not Level.OK)
    return {each.what: each.level for each in found}


def only(found: dict[str, Level], level: Level) -> str:
    """The one finding of this level; nothing else is found but what is well."""
    [what] = [what for what, its in found.items() if its is level]
    assert set(found.values()) == {level, Level.OK}
    return what


def settled(*members: str) -> Cluster:
    cluster = Cluster(*members)
    cluster.settle()
    return cluster


def test_nothing_is_found_without_a_cluster_and_all_is_well_with_a_healthy_one():
    assert examined(None) == {}
    assert examined(settled("a", "b")) == {"cluster c: 2 members, settled": Level.OK}


@pytest.mark.proves("T43")
def test_two_processes_with_one_id_are_a_problem():
    cluster = settled("a", "b")
    cluster.lives["a"] += 1
    cluster.join("a")
    assert only(examined(cluster), Level.PROBLEM).endswith(
        "two processes run as a: incarnations a1, since offset 2, and a2; stop one, or give it another id"
    )


def test_what_was_refused_long_ago_is_no_problem():
    cluster = settled("a", "b")
    cluster.lives["a"] += 1
    cluster.join("a")
    cluster.lives["a"] -= 1
    cluster.time_ms += 2 * 3600 * 1000
    cluster.renew("a", "b")
    assert set(examined(cluster).values()) == {Level.OK}


def test_a_member_that_computed_another_state_is_a_problem():
    cluster = Cluster("a")
    cluster.ack("a", state_hash="0" * 32)
    cluster.settle()
    assert "a computed the state" in only(examined(cluster), Level.PROBLEM)


def test_an_instance_that_joins_again_and_again_is_a_problem():
    cluster = settled("a", "b")
    for _ in range(2):
        cluster.restart("b")
    cluster.settle()
    assert only(examined(cluster), Level.PROBLEM).endswith("b 3 times")


def test_a_member_that_lags_is_a_problem():
    cluster = settled("a", "b")
    read_to = cluster.state.offset
    cluster.passes(4000, "a")
    cluster.renew("b", read_to=read_to)
    assert "b by 4.0 s; beyond 3.0 s they stop acting" in only(examined(cluster), Level.PROBLEM)


def test_a_view_that_is_overdue_is_a_problem_and_names_who_did_not_acknowledge_it():
    cluster = Cluster("a", "b")
    cluster.ack("a")
    cluster.passes(9000, "a", "b")
    assert set(examined(cluster).values()) == {Level.OK}
    cluster.passes(2000, "a", "b")
    assert "b did not acknowledge it in time" in only(examined(cluster), Level.PROBLEM)


def test_a_view_that_went_on_without_a_member_is_worth_a_look():
    cluster = Cluster("a", "b", ack_policy=AckPolicy.PROCEED)
    cluster.ack("a")
    cluster.passes(12_000, "a", "b")
    assert "was settled without b" in only(examined(cluster), Level.ADVICE)


def test_a_member_that_no_one_evicts_is_a_problem():
    cluster = settled("a", "b", "c")
    cluster.passes(LEASE_MS, "a")
    cluster.propose("a", "b", "c")
    found = [what for what, level in examined(cluster).items() if level is Level.PROBLEM]
    assert "0 of 1 evictions are spent, 2 more proposed" in found[0]
    assert found[1].endswith("not evicted: b, c")


@pytest.mark.proves("T62")
def test_append_times_that_went_back_are_a_problem():
    cluster = settled("a")
    cluster.time_ms -= 9000
    cluster.renew("a")
    found = examined(cluster)
    assert "append times went back by 9.0 s" in only(found, Level.PROBLEM)


def test_a_frozen_cluster_is_worth_a_look_and_so_is_one_that_is_silent():
    cluster = settled("a")
    assert "no member has written for 60 s" in only(examined(cluster, later_ms=60_000), Level.ADVICE)
    cluster = settled("a")
    cluster.command(freeze=True)
    assert "the cluster is frozen" in only(examined(cluster), Level.ADVICE)


def test_a_record_that_is_too_new_is_a_problem():
    cluster = settled("a")
    cluster.put_record(NewRecord(payload=b"", headers=(("type", "Novel"), ("version", "9.0"))))
    assert "is too new for this version" in only(examined(cluster), Level.PROBLEM)


def test_a_topic_that_was_trimmed_without_a_snapshot_is_a_problem():
    found = list[Finding]()

    async def work(stage: Stage) -> None:
        await stage.log.trim(TOPIC, Retention(below_offset=5))
        found.extend(await examine_cluster(stage.board.context))

    staged(work, settled("a", "b"))
    assert [each.what for each in found if each.level is Level.PROBLEM] == [f"{TOPIC} was trimmed and has no snapshot"]


@pytest.mark.proves("T62")
@pytest.mark.parametrize(
    ("clocks", "expected"),
    [
        ({"a": 100, "b": 100, "c": 40}, "by 60.0 s, the clocks of these are behind those of the other members: c"),
        ({"a": 100, "b": 160, "c": 100}, "by 60.0 s, the clocks of these are ahead of those of the other members: b"),
        ({"a": 100, "b": 104, "c": 102}, ""),
    ],
)
def test_a_member_whose_clock_differs_from_the_others_is_a_problem(clocks: dict[str, int], expected: str):
    cluster = settled("a", "b", "c")
    for who, s in (*clocks.items(), *clocks.items()):
        renewal = RenewMessage(**cluster.by(who))
        cluster.put_record(new_record(renewal, record_id="", time_ns=s * 10**9, producer=who))
    found = examined(cluster)
    assert (only(found, Level.PROBLEM) if expected else "") == expected
    assert expected or set(found.values()) == {Level.OK}


def test_clocks_of_all_members_that_were_set_back_are_worth_a_look():
    cluster = settled("a", "b")
    for s in (100, 40):
        for who in ("a", "b"):
            renewal = RenewMessage(**cluster.by(who))
            cluster.put_record(new_record(renewal, record_id="", time_ns=s * 10**9, producer=who))
    assert only(examined(cluster), Level.ADVICE) == "clocks of members were set back by 60.0 s"
