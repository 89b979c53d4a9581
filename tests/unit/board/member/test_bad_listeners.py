"""Listeners and providers are the service's own functions: what they do wrong stays with them, or is contained."""

import asyncio
import json
import threading
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from callboard import Barrier, MembershipEnded, TopologyEvent
from callboard.messages.topology.control_messages import PropertiesMessage
from tests.unit.board.member.clusters import BRIEF, DEADLINE_S, TOPIC, Cluster, eventually, run
from tests.unit.board.member.views import remote


async def forever(event: TopologyEvent) -> None:
    await asyncio.Event().wait()


@pytest.mark.proves("T24")
def test_a_listener_that_raises_is_told_what_follows_and_delays_no_one(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario(cluster: Cluster) -> None:
        told = list[str]()

        def bad(event: TopologyEvent) -> None:
            told.append(event.kind)
            raise ZeroDivisionError("mine")

        member = await cluster.add("a")
        member.add_listener(bad)
        await member.settled()
        await cluster.add("b")
        await cluster.agreed("ab")
        await eventually(lambda: told == ["topology_init", "topology_changing", "topology_changed"])

    run(scenario, tmp_path)
    assert "ZeroDivisionError: mine" in caplog.text


def test_a_listener_that_hangs_is_cancelled_at_its_deadline_and_then_the_cluster_goes_on(tmp_path: Path) -> None:
    async def scenario(cluster: Cluster) -> None:
        member = await cluster.add("a", listener_timeout_s=0.3, lease_s=30)
        await member.settled()
        member.add_listener(forever)
        await cluster.add("b", lease_s=30)
        await cluster.agreed("ab")

    run(scenario, tmp_path)


@pytest.mark.proves("T25")
def test_a_stop_waits_a_limited_time_for_a_listener_and_leaves_the_end_to_the_lease(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("callboard.board.member.member.LEAVE_S", 0.1)

    async def scenario(cluster: Cluster) -> None:
        board, told = await cluster.board("b"), list[str]()

        async def stays(event: TopologyEvent) -> None:
            told.append(event.kind)
            if event.kind == "topology_changing":
                await asyncio.Event().wait()

        member = await cluster.add("a", listener_timeout_s=1000)
        member.add_listener(stays)
        await eventually(lambda: told == ["topology_init"])
        await member.stop()
        assert told == ["topology_init", "topology_changing"]
        assert [each.instance for each in (await board.topology.view()).members] == ["a"], "it may still act"
        assert not member.remove_listener(stays)

    run(scenario, tmp_path)


@pytest.mark.proves("T31", "T32")
def test_no_member_is_told_the_next_view_before_the_critical_listeners_of_all_have_returned(tmp_path: Path) -> None:
    async def scenario(cluster: Cluster) -> None:
        released, long = asyncio.Event(), {"lease_s": 60, "listener_timeout_s": 1000}

        async def stops_slowly(event: TopologyEvent) -> None:
            if event.kind == "topology_changing":
                await released.wait()

        for name in "ab":
            await cluster.add(name, **long)
            await cluster.members[name].settled()
        await cluster.agreed("ab")
        cluster.members["a"].add_listener(stops_slowly)
        await cluster.add("c", **long)

        async def waited_for() -> tuple[str, ...]:
            return (await cluster.boards["b"].topology.view()).waiting_for

        async with asyncio.timeout(DEADLINE_S):
            while await waited_for() != ("a",):
                pass
        assert cluster.kinds("b")[-1] == "topology_changing"
        assert cluster.kinds("c") == []
        released.set()
        await cluster.agreed("abc")
        await eventually(lambda: cluster.kinds("c") == ["topology_init"])

    run(scenario, tmp_path)


def test_a_listener_that_is_not_critical_delays_no_one(tmp_path: Path) -> None:
    async def scenario(cluster: Cluster) -> None:
        member = await cluster.add("a", listener_timeout_s=1000)
        await member.settled()
        member.add_listener(forever, critical=False)
        await cluster.add("b")
        await cluster.agreed("ab")

    run(scenario, tmp_path)


@pytest.mark.proves("T89")
def test_a_member_whose_critical_listener_cannot_be_stopped_is_evicted_and_joins_again_when_it_is(
    tmp_path: Path,
) -> None:
    async def scenario(cluster: Cluster) -> None:
        released, changing = threading.Event(), threading.Event()

        def stuck(event: TopologyEvent) -> None:
            if event.kind == "topology_changing" and not changing.is_set():
                changing.set()
                assert released.wait(60)

        member = await cluster.add("a", **BRIEF)
        await member.settled()
        member.add_listener(stuck)
        await cluster.add("b")
        try:
            await eventually(changing.is_set)
            await cluster.agreed("b")
            assert not member.is_leader()
        finally:
            released.set()
        await cluster.agreed("ba")

    run(scenario, tmp_path)


@pytest.mark.proves("T39")
def test_a_provider_that_raises_or_hangs_harms_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def scenario(cluster: Cluster) -> None:
        released, calls = threading.Event(), list[str]()

        def fails(name: str) -> str:
            calls.append(name)
            if len(calls) > 1:
                raise ZeroDivisionError("mine")
            return "once"

        def hangs(name: str) -> str:
            assert released.wait(60)
            return name

        member = await cluster.add("a")
        member.add_provider(["hangs"], hangs)
        member.add_provider(["fails", "not a name"], fails)
        try:
            await eventually(lambda: len(calls) > 3)
            await eventually(lambda: member.topology().local_instance.properties == {"fails": "once"})
            assert member.is_leader()
        finally:
            released.set()

    run(scenario, tmp_path)
    assert "ZeroDivisionError: mine" in caplog.text


@pytest.mark.proves("T39", "T40")
def test_properties_are_written_only_when_they_change_and_go_with_their_provider(tmp_path: Path) -> None:
    async def scenario(cluster: Cluster) -> None:
        polls = list[str]()

        async def load(name: str) -> str:
            polls.append(name)
            return "9"

        member = await cluster.add("a", properties={"x": "1"})
        provider = member.add_provider(["load"], load)
        await eventually(lambda: member.topology().local_instance.properties == {"x": "1", "load": "9"})
        await eventually(lambda: len(polls) > 4)
        assert await written(cluster) == 1
        assert member.remove_provider(provider)
        assert not member.remove_provider(provider)
        await eventually(lambda: member.topology().local_instance.properties == {"x": "1"})
        await member.set_properties({"y": "2"})
        assert member.topology().local_instance.properties == {"y": "2"}
        assert await written(cluster) == 3
        await member.set_properties({"y": "2"})
        assert await written(cluster) == 3

    run(scenario, tmp_path)


def test_properties_are_set_although_a_provider_gives_another_value_each_time(tmp_path: Path) -> None:
    async def scenario(cluster: Cluster) -> None:
        member, numbers = await cluster.add("a"), count()
        member.add_provider(["load", "shared"], lambda _: str(next(numbers)), ranking=-1)
        await member.settled()
        for number in range(3):
            await member.set_properties({"x": str(number), "shared": "mine"}, timeout_s=10)
            now = member.topology().local_instance.properties
            assert (now["x"], now["shared"]) == (str(number), "mine")

    run(scenario, tmp_path)


def test_a_provider_that_keeps_failing_is_logged_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def scenario(cluster: Cluster) -> None:
        member, calls = await cluster.add("a"), list[str]()

        def number(name: str) -> Any:
            calls.append(name)
            return 5

        member.add_provider(["number"], number)
        await eventually(lambda: len(calls) > 3)
        assert member.topology().local_instance.properties == {}

    run(scenario, tmp_path)
    assert "the property number is left out: 5 is not text" in caplog.text
    assert caplog.text.count("provider.failed") == 1


@pytest.mark.proves("T41")
def test_properties_are_written_once_a_second_at_most(tmp_path: Path) -> None:
    async def scenario(cluster: Cluster) -> None:
        member = await cluster.add("a")
        await member.settled()
        loop = asyncio.get_running_loop()
        began_s = loop.time()
        for number in range(3):
            await member.set_properties({"x": str(number)})
        assert loop.time() - began_s > 1.9

    run(scenario, tmp_path)


async def written(cluster: Cluster) -> int:
    log = cluster.boards["a"].log
    records = await log.read(TOPIC, (await log.bounds(TOPIC)).first, 10_000)
    return sum(record.header("type") == PropertiesMessage.__name__ for record in records)


@pytest.mark.proves("T33", "T53")
def test_a_view_without_a_member_is_agreed_once_its_records_are_read(tmp_path: Path) -> None:
    async def scenario(cluster: Cluster) -> None:
        barriers, released = list[Barrier](), asyncio.Event()

        async def read_up_to(barrier: Barrier) -> None:
            barriers.append(barrier)
            await released.wait()

        streams = ("callboard.package",)
        await cluster.add("a", streams=streams)
        await cluster.members["a"].settled()
        await cluster.add("b", streams=streams, backlog=read_up_to)
        await cluster.agreed("ab")
        await cluster.members["a"].stop()
        await eventually(lambda: bool(barriers))
        assert barriers[0].topic == "callboard.package"
        assert cluster.kinds("b")[-1] == "topology_changing"
        told = json.loads(cluster.members["b"].descriptor())
        assert (told["final"], told["deactivating"], told["inactive"]) == (False, [told["seq"]], [])
        released.set()
        await cluster.agreed("b")
        told = json.loads(cluster.members["b"].descriptor())
        assert (told["final"], told["deactivating"], told["inactive"]) == (True, [], [told["seq"]])

    run(scenario, tmp_path)


def test_a_listener_cannot_wait_for_the_end_of_its_member_but_start_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario(cluster: Cluster) -> None:
        member, stopping = await cluster.add("a"), list[asyncio.Task[None]]()

        async def stop(event: TopologyEvent) -> None:
            stopping.append(asyncio.create_task(member.stop("told to")))
            await member.stop()

        await member.settled()
        member.add_listener(stop)
        await eventually(lambda: bool(stopping))
        await stopping[0]
        with pytest.raises(MembershipEnded, match="the member is not started"):
            await member.ended()

    run(scenario, tmp_path)
    assert "a listener cannot wait for the end of its member; start a task that stops it" in caplog.text


def test_clusters_that_cannot_be_told_are_the_last_ones_that_could(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario(cluster: Cluster) -> None:
        given: list[Any] = [[remote("x", "r")], ZeroDivisionError("mine"), "nonsense", [1]]

        def connected() -> Any:
            told = given.pop(0) if len(given) > 1 else given[0]
            if isinstance(told, Exception):
                raise told
            return told

        member = await cluster.add("a")
        await member.settled()
        changed = member.use_remote(connected)
        while len(given) > 1:
            changed()
        await eventually(lambda: len(member.topology().instances) == 2)
        assert member.is_leader()

    run(scenario, tmp_path)
    assert "ZeroDivisionError: mine" in caplog.text


@pytest.mark.proves("T33")
def test_what_a_member_wrote_that_an_operator_evicts_is_read_before_the_next_view_is_agreed(tmp_path: Path) -> None:
    async def scenario(cluster: Cluster) -> None:
        barriers, released = list[Barrier](), asyncio.Event()

        async def read_up_to(barrier: Barrier) -> None:
            barriers.append(barrier)
            await released.wait()

        await cluster.add("a")
        await cluster.members["a"].settled()
        await cluster.add("b", streams=("callboard.package", "no.such"), backlog=read_up_to)
        await cluster.agreed("ab")
        assert (await cluster.boards["b"].topology.evict("a")).accepted
        await eventually(lambda: bool(barriers))
        assert {each.topic for each in barriers} == {"callboard.package"}
        assert cluster.kinds("b")[-1] == "topology_changing"
        released.set()
        await cluster.agreed("ba", "b")

    run(scenario, tmp_path)
