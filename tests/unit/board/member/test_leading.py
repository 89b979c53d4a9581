"""Leadership is held by one member at a time, and ends before another one begins."""

import asyncio
import threading
from contextlib import suppress
from pathlib import Path

import pytest

from callboard import LeadershipLost, Member, NotAnswered, RequestRefused, Token
from callboard.board.member.leadership import may_lead
from tests.unit.board.member.clusters import BRIEF, Cluster, eventually, run
from tests.unit.board.member.views import cluster as seen

HELD, OTHER = Token("log", 1), Token("log", 9)


@pytest.mark.parametrize(
    ("names", "settled", "standing", "held", "expected"),
    [
        ("a*b", True, True, None, HELD),
        ("a*b", True, False, None, None),
        ("a*b", False, True, None, None),
        ("a*b", False, True, HELD, HELD),
        ("a*b", False, False, HELD, None),
        ("a*b", False, True, OTHER, None),
        ("ab*", True, True, None, None),
        ("ab*", False, True, HELD, None),
        ("ab", True, True, None, None),
    ],
    ids=["leads", "no lease", "not settled", "goes on", "lapsed", "led before", "another", "replaced", "no member"],
)
def test_one_begins_to_lead_in_a_settled_view_and_goes_on_until_another_is_named(
    names: str, settled: bool, standing: bool, held: Token | None, expected: Token | None
) -> None:
    assert may_lead(seen(names, settled=settled), standing=standing, held=held) == expected
    assert may_lead(None, standing=standing, held=held) is None


class Counter:
    """A resource outside the log: it keeps the highest token, and refuses lower ones."""

    def __init__(self) -> None:
        self.token = Token("", -1)
        self.counted, self.refused = list[Token](), list[Token]()

    def count(self, token: Token) -> None:
        if self.token.log_id and token < self.token:
            self.refused.append(token)
        else:
            self.token = token
            self.counted.append(token)


async def lead(member: Member, counter: Counter, working: asyncio.Event) -> None:
    """Count as long as this member leads, and again when it leads again."""
    while True:
        with suppress(LeadershipLost):
            async with member.leader_lease() as token:
                working.set()
                while True:
                    counter.count(token)
                    await asyncio.sleep(0.002)


@pytest.mark.proves("J96")
@pytest.mark.parametrize("how", ["stop", "transfer"])
def test_the_next_leader_begins_after_the_work_of_the_former_one_has_ended(how: str, tmp_path: Path) -> None:
    async def scenario(cluster: Cluster) -> None:
        for name in "ab":
            await cluster.add(name)
            await cluster.members[name].settled()
        await cluster.agreed("ab")
        happened, began = list[str](), asyncio.Event()

        async def work(name: str) -> None:
            async with cluster.members[name].leader_lease():
                happened.append(f"{name} begins")
                try:
                    began.set()
                    await asyncio.Event().wait()
                finally:
                    for _ in range(20):  # it takes a while to stop
                        await asyncio.to_thread(str)
                    happened.append(f"{name} ends")

        first = asyncio.create_task(work("a"))
        await began.wait()
        second = asyncio.create_task(work("b"))
        if how == "stop":
            await cluster.members["a"].stop()
        else:
            assert (await cluster.boards["b"].topology.transfer("b")).accepted
        with pytest.raises(LeadershipLost, match="no longer leads"):
            await first
        await eventually(lambda: "b begins" in happened)
        assert happened == ["a begins", "a ends", "b begins"]
        second.cancel()
        await asyncio.gather(second, return_exceptions=True)

    run(scenario, tmp_path)


@pytest.mark.proves("T12", "T50", "T51")
def test_a_leader_that_loses_the_log_is_cancelled_before_another_one_begins(tmp_path: Path) -> None:
    async def scenario(cluster: Cluster) -> None:
        for name in "abc":
            await cluster.add(name, **BRIEF)
            await cluster.members[name].settled()
        await cluster.agreed("abc")
        counter, working = Counter(), {name: asyncio.Event() for name in "abc"}
        tasks = [asyncio.create_task(lead(cluster.members[name], counter, working[name])) for name in "abc"]
        await working["a"].wait()
        cluster.cut("a")
        await working["b"].wait()
        assert not cluster.members["a"].is_leader()
        assert cluster.kinds("a")[-1] == "topology_changing"
        was, now = counter.counted[0], counter.counted[-1]
        assert was < now
        assert counter.counted == sorted(counter.counted), "no two led at a time"
        await cluster.agreed("bc")
        cluster.cut("a", off=False)
        await cluster.agreed("bca")
        assert cluster.members["b"].is_leader()
        await eventually(lambda: cluster.kinds("a")[-1] == "topology_changed")
        assert not counter.refused
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    run(scenario, tmp_path)


@pytest.mark.proves("T84")
def test_a_resource_refuses_a_leader_that_does_not_stop(tmp_path: Path) -> None:
    async def scenario(cluster: Cluster) -> None:
        for name in "ab":
            await cluster.add(name, **BRIEF)
            await cluster.members[name].settled()
        await cluster.agreed("ab")
        counter, released = Counter(), asyncio.Event()

        async def stubborn() -> None:
            async with cluster.members["a"].leader_lease() as token:
                counter.count(token)
                while not released.is_set():
                    with suppress(asyncio.CancelledError):
                        await released.wait()
                counter.count(token)

        first = asyncio.create_task(stubborn())
        await eventually(lambda: len(counter.counted) == 1)
        cluster.cut("a")
        async with cluster.members["b"].leader_lease() as token:
            counter.count(token)
            released.set()
            with pytest.raises(LeadershipLost):
                await first
        assert [each.leader_epoch for each in counter.refused] == [counter.counted[0].leader_epoch]
        assert len(counter.counted) == 2

    run(scenario, tmp_path)


def test_a_member_that_leads_again_begins_after_its_former_work_has_ended(tmp_path: Path) -> None:
    async def scenario(cluster: Cluster) -> None:
        member, released, happened = await cluster.add("a", **BRIEF), asyncio.Event(), list[str]()

        async def first() -> None:
            async with member.leader_lease():
                happened.append("begins")
                try:
                    await asyncio.Event().wait()
                finally:
                    await released.wait()
                    happened.append("ends")

        work = asyncio.create_task(first())
        await eventually(lambda: bool(happened))
        cluster.cut("a")
        await eventually(lambda: not member.topology().is_current)
        cluster.cut("a", off=False)
        await eventually(member.is_leader)
        with pytest.raises(NotAnswered):
            await member.leader_lease(timeout_s=0.05).acquire()
        released.set()
        with pytest.raises(LeadershipLost):
            await work
        async with member.leader_lease():
            assert happened == ["begins", "ends"]

    run(scenario, tmp_path)


def test_a_member_that_joins_does_not_interrupt_the_leader(tmp_path: Path) -> None:
    async def scenario(cluster: Cluster) -> None:
        leader = await cluster.add("a")
        async with leader.leader_lease() as token:
            await cluster.add("b")
            await cluster.agreed("ab")
            await cluster.members["b"].stop()
            await cluster.agreed("a")
            assert leader.holds(token)

    run(scenario, tmp_path)


@pytest.mark.proves("T12", "T50")
def test_a_blocked_event_loop_does_not_keep_its_leadership(tmp_path: Path) -> None:
    async def scenario(cluster: Cluster) -> None:
        leader = await cluster.add("a", **BRIEF)
        await leader.settled()
        lapsed = threading.Event()

        def watch() -> None:
            while leader.is_leader():
                pass
            lapsed.set()

        thread = threading.Thread(target=watch)
        thread.start()
        assert lapsed.wait(30), "the loop is blocked here, for longer than the lease"
        thread.join()
        assert not leader.topology().is_current
        await eventually(leader.is_leader)
        await eventually(lambda: len(cluster.told["a"]) == 3)
        assert cluster.kinds("a") == ["topology_init", "topology_changing", "topology_changed"]

    run(scenario, tmp_path)


def test_a_lease_that_is_held_is_not_taken_again(tmp_path: Path) -> None:
    async def scenario(cluster: Cluster) -> None:
        member = await cluster.add("a")
        lease = member.leader_lease()
        async with lease as token:
            with pytest.raises(RequestRefused, match="held already"):
                await lease.acquire()
            assert member.holds(token)
        evicted = await cluster.boards["a"].topology.evict("a")
        assert (await member.settled(evicted.epoch)).leader

    run(scenario, tmp_path)
