"""Members in one process, with real agents on a real log: they agree, and keep to it when some of them fail."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from callboard import Callboard, ConfigError, MembershipEnded, NotAnswered, RequestRefused, TopologyEvent
from callboard.actors.topology.cluster_view import Instance
from callboard.messages.record import NewRecord
from callboard.messages.topology.cluster_state import Health
from callboard.messages.topology.control_messages import RenewMessage
from callboard.messages.topology.limits import CLUSTER_ID
from callboard.messages.topology.reading import read
from tests.unit.board.member.clusters import BRIEF, QUICK, TOPIC, Cluster, eventually, run
from tests.unit.board.member.views import remote


@pytest.mark.parametrize("log", ["memory:", "sqlite:///./board.db"])
def test_three_members_agree_on_their_order_and_on_one_leader(log: str, tmp_path: Path) -> None:
    async def scenario() -> None:
        async with Callboard(log, base=tmp_path) as board:
            members = [board.member(instance=name, **QUICK) for name in "abc"]
            for member in members:
                await member.start()
                await member.settled()
            await eventually(lambda: all(len(each.topology().instances) == 3 for each in members))
            views = [await each.settled() for each in members]
            assert [[it.instance for it in view.instances] for view in views] == [["a", "b", "c"]] * 3
            assert len({view.epoch for view in views}) == 1
            assert [each.is_leader() for each in members] == [True, False, False]
            for member in members:
                await member.stop()

    asyncio.run(scenario())


@pytest.mark.proves("T13", "T14")
def test_before_it_starts_a_member_sees_itself_alone_and_after_it_stops_too(tmp_path: Path) -> None:
    async def scenario(cluster: Cluster) -> None:
        board = await cluster.board("a")
        member = board.member(instance="a", cluster="shop", properties={"x": "1"}, **QUICK)
        before = member.topology()
        assert not before.is_current
        assert before.local_instance.properties == {"x": "1"}
        assert before.local_cluster.cluster_id == "shop"
        assert before.leader is None
        with pytest.raises(MembershipEnded, match="the member is not started"):
            await member.settled()
        async with member:
            assert not member.topology().is_current
            view = await member.settled()
            assert view.local_cluster.cluster_id == "shop"
            assert member.is_leader()
        assert not view.is_current
        assert not member.is_leader()

    run(scenario, tmp_path)


def test_a_member_that_is_started_is_not_started_again_until_it_has_stopped(tmp_path: Path) -> None:
    async def scenario(cluster: Cluster) -> None:
        member = (await cluster.board("a")).member(instance="a", **QUICK)

        async def another_task() -> None:
            async with member:
                raise AssertionError("it has no membership of its own")

        async with member:
            with pytest.raises(RequestRefused, match="this member is started already"):
                async with member:
                    pass
            with pytest.raises(RequestRefused, match="stop it first, or make another"):
                await asyncio.create_task(another_task())
            first = await member.settled()
            assert member.is_leader()
        async with member:
            assert (await member.settled()).epoch > first.epoch
        stopping = asyncio.create_task(member.stop())
        await member.start()
        await stopping
        await member.stop()

    run(scenario, tmp_path)


def test_a_member_is_used_on_its_own_event_loop_except_for_what_never_blocks(tmp_path: Path) -> None:
    async def scenario(cluster: Cluster) -> None:
        member = await cluster.add("a")
        view = await member.settled()

        async def elsewhere() -> None:
            for call in (member.stop, member.ended, member.leader_lease().acquire):
                with pytest.raises(RequestRefused, match="this member runs on another event loop"):
                    await call()

        def in_a_thread() -> None:
            assert member.topology().epoch == view.epoch
            assert member.is_leader()
            assert len(member.instances()) == 1
            for call in (
                lambda: member.add_listener(print),
                lambda: member.remove_listener(print),
                lambda: member.add_provider(["x"], str),
                lambda: member.report(Health.GOOD),
            ):
                with pytest.raises(RequestRefused, match=r"or use callboard\.sync"):
                    call()
            asyncio.run(elsewhere())

        await asyncio.to_thread(in_a_thread)
        assert member.is_leader()

    run(scenario, tmp_path)


def test_a_member_that_starts_while_the_log_is_away_waits_and_says_so(tmp_path: Path) -> None:
    async def scenario(cluster: Cluster) -> None:
        board = await cluster.board("a")
        cluster.cut("a")
        async with board.member(instance="a", **QUICK) as member:
            with pytest.raises(NotAnswered, match="unavailable: a fault was injected"):
                await member.settled(timeout_s=0.5)
            cluster.cut("a", off=False)
            assert (await member.settled()).leader is not None

    run(scenario, tmp_path)


@pytest.mark.proves("T6", "T57")
def test_a_cluster_keeps_the_id_that_its_founder_made_when_all_members_have_ended(tmp_path: Path) -> None:
    async def scenario(cluster: Cluster) -> None:
        found = list[str]()
        for name in ("a", "b"):
            member = (await cluster.board(name)).member(instance=name, **QUICK)
            found.append(member.topology().local_cluster.cluster_id)
            async with member:
                found.append((await member.settled()).local_cluster.cluster_id)
        planned, *agreed = found[0], found[1], found[3]
        assert agreed == [planned, planned]
        assert CLUSTER_ID.fullmatch(planned)

    run(scenario, tmp_path)


@pytest.mark.proves("T7")
def test_a_joiner_adopts_the_id_of_the_cluster(tmp_path: Path) -> None:
    async def scenario(cluster: Cluster) -> None:
        first = await cluster.add("a", cluster="shop")
        await first.settled()
        second = await cluster.add("b", cluster="another")
        assert (await second.settled()).local_cluster.cluster_id == "shop"

    run(scenario, tmp_path)


def test_a_joiner_renews_as_often_as_the_lease_of_the_cluster_needs(tmp_path: Path) -> None:
    async def scenario(cluster: Cluster) -> None:
        await cluster.add("a", **BRIEF)
        await cluster.agreed("a")
        await cluster.add("b", lease_s=1000, renew_s=100, ack_deadline_s=1000)
        await cluster.agreed("ab")
        log, renewals = cluster.boards["a"].log, 0
        after = (await log.bounds(TOPIC)).end
        async with asyncio.timeout(30):
            while renewals < 5:
                await log.wait(TOPIC, after, 1)
                for record in await log.read(TOPIC, after, 100):
                    said, after = read(record), record.offset + 1
                    renewals += isinstance(said, RenewMessage) and said.instance == "b"
        assert cluster.members["b"].topology().is_current

    run(scenario, tmp_path)


@pytest.mark.proves("T16", "T17", "T18", "T19")
def test_listeners_are_told_by_the_grammar_and_only_once_everyone_has_agreed(tmp_path: Path) -> None:
    async def scenario(cluster: Cluster) -> None:
        await cluster.add("a")
        await cluster.agreed("a")
        await cluster.add("b")
        await cluster.agreed("ab")
        await cluster.members["a"].set_properties({"x": "1"})
        await eventually(lambda: len(cluster.told["b"]) == 2)
        await cluster.members["b"].stop()
        await cluster.agreed("a")
        bracket = ["topology_changing", "topology_changed"]
        await eventually(lambda: len(cluster.told["a"]) == 6)
        assert cluster.kinds("a") == ["topology_init", *bracket, "properties_changed", *bracket]
        assert cluster.kinds("b") == ["topology_init", "properties_changed", "topology_changing"]

    run(scenario, tmp_path)


@pytest.mark.proves("T22", "T23", "T25", "T26")
def test_after_a_stop_listeners_must_be_added_again(tmp_path: Path) -> None:
    async def scenario(cluster: Cluster) -> None:
        member, told = (await cluster.board("a")).member(instance="a", **QUICK), list[str]()

        async def tell(event: TopologyEvent) -> None:
            told.append(event.kind)

        assert member.add_listener(tell)
        assert not member.add_listener(tell)
        async with member:
            await eventually(lambda: told == ["topology_init"])
        assert told == ["topology_init", "topology_changing"]
        async with member:
            await member.settled()
            assert member.add_listener(tell)
            await eventually(lambda: told[2:] == ["topology_init"])
            assert member.remove_listener(tell)
            assert not member.remove_listener(tell)

    run(scenario, tmp_path)


def test_a_member_that_an_operator_evicts_joins_again_as_the_last(tmp_path: Path) -> None:
    async def scenario(cluster: Cluster) -> None:
        for name in "ab":
            await cluster.add(name)
            await cluster.members[name].settled()
        await cluster.agreed("ab")
        was = cluster.members["a"].topology().local_instance.incarnation
        assert (await cluster.boards["b"].topology.evict("a")).accepted
        await cluster.agreed("ba")
        assert cluster.members["a"].topology().local_instance.incarnation != was
        await eventually(lambda: cluster.kinds("a")[-1] == "topology_changed")
        kinds = cluster.kinds("a")
        assert kinds[0] == "topology_init"
        assert kinds[1:] == ["topology_changing", "topology_changed"] * (len(kinds) // 2)

    run(scenario, tmp_path)


@pytest.mark.proves("T90")
def test_changes_are_replayed_from_an_epoch_and_then_followed(tmp_path: Path) -> None:
    async def scenario(cluster: Cluster) -> None:
        member = await cluster.add("a")
        first = await member.settled()
        await cluster.add("b")
        await cluster.agreed("ab")
        found = list[tuple[str, tuple[str, ...]]]()
        async for change in member.watch(first.epoch):
            found.append((change.kind, change.members))
            if change.kind == "joined":
                await cluster.members["b"].stop()
            if change.kind == "left":
                break
        assert ("joined", ("a", "b")) in found
        assert found[-1] == ("left", ("a",))
        assert all(len(members) < 3 for _, members in found)

    run(scenario, tmp_path)


@pytest.mark.proves("T43")
def test_two_processes_under_one_id_are_told_apart(tmp_path: Path) -> None:
    async def scenario(cluster: Cluster) -> None:
        await cluster.add("a")
        await cluster.agreed("a")
        second = (await cluster.board("second")).member(instance="a", **QUICK)
        with pytest.raises(MembershipEnded, match="two processes run as a") as caught:
            async with second:
                await asyncio.Event().wait()
        assert caught.value.code == "duplicate_id"
        assert cluster.members["a"].is_leader()

    run(scenario, tmp_path)


def test_a_record_that_is_too_new_ends_the_membership_and_the_body_with_its_code(tmp_path: Path) -> None:
    async def scenario(cluster: Cluster) -> None:
        board = await cluster.board("a")
        newer = NewRecord(payload=b"", headers=(("type", "Novel"), ("version", "9.0")))

        async def works() -> None:
            async with board.member(instance="a", **QUICK) as member:
                await member.settled()
                await board.log.append(TOPIC, [newer])
                await asyncio.Event().wait()

        with pytest.raises(MembershipEnded) as caught:
            await works()
        assert caught.value.code == "too_new"

    run(scenario, tmp_path)


def test_what_is_waited_for_too_long_is_not_answered(tmp_path: Path) -> None:
    async def scenario(cluster: Cluster) -> None:
        member = await cluster.add("a")
        view = await member.settled()
        with pytest.raises(NotAnswered, match=r"not agreed after 0.1 s; it has read epoch"):
            await member.settled(view.epoch + 1, timeout_s=0.1)
        other = await cluster.add("b")
        await cluster.agreed("ab")
        with pytest.raises(NotAnswered, match="not led by this process"):
            async with other.leader_lease(timeout_s=0.1):
                pass

    run(scenario, tmp_path)


@pytest.mark.proves("T91")
def test_instances_are_found_by_tag_health_and_condition(tmp_path: Path) -> None:
    async def scenario(cluster: Cluster) -> None:
        await cluster.add("a", tags=("web", "eu"))
        await cluster.add("b", tags=("web",))
        await cluster.agreed("ab")
        seen = cluster.members["a"]
        cluster.members["b"].report(Health.BAD, load_permille=900)

        def found(**which: Any) -> str:
            return "".join(each.instance for each in seen.instances(**which))

        assert (found(tag="web"), found(tag="eu"), found(tag="asia")) == ("ab", "a", "")
        await eventually(lambda: found(health=Health.GOOD) == "a")
        await eventually(
            lambda: found(where=lambda each: isinstance(each, Instance) and each.load_permille > 500) == "b"
        )
        assert "properties_changed" not in cluster.kinds("a"), "health is no event"
        with pytest.raises(RequestRefused, match=r"health is 'good', but should be one of Health.GOOD"):
            found(health="good")

    run(scenario, tmp_path)


@pytest.mark.proves("T11", "T72")
def test_clusters_that_are_connected_are_part_of_the_topology(tmp_path: Path) -> None:
    async def scenario(cluster: Cluster) -> None:
        member, clusters = await cluster.add("a"), [remote("xy", "r")]
        await eventually(lambda: len(cluster.told["a"]) == 1)
        changed = member.use_remote(lambda: tuple(clusters))
        changed()
        await eventually(lambda: len(cluster.told["a"]) == 3)
        assert [each.instance for each in member.topology().instances] == ["a", "x", "y"]
        clusters[:] = [remote("xa", "r")]
        changed()
        assert [each.instance for each in member.topology().instances] == ["a"], "it overlaps the local cluster"
        await eventually(lambda: len(cluster.told["a"]) == 5)
        assert cluster.kinds("a")[1:] == ["topology_changing", "topology_changed"] * 2

    run(scenario, tmp_path)


@pytest.mark.proves("T53")
def test_the_descriptor_says_who_is_active_and_who_has_gone(tmp_path: Path) -> None:
    async def scenario(cluster: Cluster) -> None:
        for name in "ab":
            await cluster.add(name, cluster="shop")
            await cluster.members[name].settled()
        await cluster.agreed("ab")
        told = json.loads(cluster.members["b"].descriptor())
        assert told["id"] == "shop"
        assert told["final"] is True
        assert told["me"] == told["active"][1]
        assert (len(told["active"]), told["deactivating"], told["inactive"]) == (2, [], [])
        assert told["seq"] == cluster.members["b"].topology().epoch
        await cluster.members["a"].stop()
        await cluster.agreed("b")
        told = json.loads(cluster.members["b"].descriptor())
        assert told["active"] == [told["me"]]
        assert told["inactive"] == [told["seq"]]

    run(scenario, tmp_path)


@pytest.mark.proves("T95")
@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"instance": "a/b"}, "instance is 'a/b', but should be 1 to 100 of a-z"),
        ({"cluster": "a.b"}, "cluster is 'a.b', but should be"),
        ({"lease_s": 0.1}, "lease_s is 0.1, but should be a number from 0.5 to 1800"),
        ({"renew_s": 5}, "renew_s is 5, but should be at most 3.5 with a lease of 10 s and a margin of 0.3"),
        ({"ack_deadline_s": 5}, "ack_deadline_s is 5, but should be at least the lease, 10"),
        ({"profile": "slow"}, "profile is 'slow', but should be one of default, fast, wan"),
        ({"properties": {"a b": "1"}}, "properties has a key that is 'a b', but should be"),
        ({"properties": {"a": "x" * 2000}}, r"properties\['a'\] is 'xxx"),
        ({"tags": "web"}, "tags is 'web', but should be a list"),
        ({"min_event_delay_s": -1}, "min_event_delay_s is -1, but should be"),
        ({"backlog": 1}, "backlog is 1, but should be a function"),
        ({"renew_s": 0.002}, "renew_s is 0.002, but should be a number from 0.01 to 1800"),
    ],
)
def test_options_that_cannot_work_are_refused_when_they_are_given(options: Any, problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        Callboard("memory:").member(**options)


def test_an_option_that_does_not_exist_is_a_type_error() -> None:
    with pytest.raises(TypeError, match="there is no 'priorty'; did you mean priority"):
        Callboard("memory:").member(priorty=1)  # type: ignore[call-arg]  # the mistake


def test_a_member_of_a_board_that_is_not_open_does_not_start() -> None:
    with pytest.raises(ConfigError, match="the board is not open"):
        asyncio.run(Callboard("memory:").member().start())
