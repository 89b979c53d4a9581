"""A member whose start or stop is interrupted, whose process is forked, or whose event loop is closed."""

import asyncio
import os
import signal
import threading
from pathlib import Path

import pytest

from callboard import Callboard, MembershipEnded, RequestRefused, TopologyEvent
from callboard.board.member.identity import FILE, Identity
from callboard.board.member.member import Member
from tests.unit.board.member.clusters import QUICK, Cluster, run


async def cancelled_after(steps: int, work: "asyncio.Task[None]") -> bool:
    """Cancel the work after so many turns of the event loop; whether that was in time."""
    for _ in range(steps):
        await asyncio.sleep(0)
    work.cancel()
    await asyncio.wait({work})
    return work.cancelled()


async def left(board: Callboard) -> list[str]:
    return [change.kind for change in (await board.topology.history()).items if change.kind == "left"]


def test_a_start_that_is_cancelled_at_any_point_leaves_the_identity_to_the_next_one(tmp_path: Path) -> None:
    async def scenario(cluster: Cluster) -> None:
        board, steps = await cluster.board("a"), 0
        while await cancelled_after(steps, asyncio.create_task(board.member(**QUICK).start())):
            assert all(agent.has_ended for agent in board.context.agents.started)
            steps += 1
            async with board.member(**QUICK):
                pass
        assert steps > 2

    run(scenario, tmp_path)


def test_a_stop_that_is_cancelled_at_any_point_ends_the_member(tmp_path: Path) -> None:
    async def scenario(cluster: Cluster) -> None:
        board, steps = await cluster.board("a"), 1
        while True:
            member = board.member(**QUICK)
            await member.start()
            await member.settled()
            in_time = await cancelled_after(steps, asyncio.create_task(member.stop()))
            with pytest.raises(MembershipEnded, match="the member is not started"):
                await member.ended()
            assert all(agent.has_ended for agent in board.context.agents.started)
            if not in_time:
                break
            steps += 7
        assert steps > 5

    run(scenario, tmp_path)


def test_a_listener_cannot_wait_for_the_end_that_it_is_told_of(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario(cluster: Cluster) -> None:
        member = await cluster.add("a", listener_timeout_s=1000)

        async def stop(event: TopologyEvent) -> None:
            if event.kind == "topology_changing":
                await member.stop()

        member.add_listener(stop)
        await member.settled()
        await member.stop()
        assert len(await left(cluster.boards["a"])) == 1

    run(scenario, tmp_path)
    assert "a listener cannot wait for the end of its member" in caplog.text


def test_a_stream_that_is_given_twice_does_not_keep_a_member_from_leaving(tmp_path: Path) -> None:
    async def scenario(cluster: Cluster) -> None:
        board = await cluster.board("a")
        async with board.member(instance="a", streams=("x", "x"), **QUICK) as member:
            await member.settled()
        assert len(await left(board)) == 1

    run(scenario, tmp_path)


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_child_is_no_member_and_does_not_keep_the_identity(tmp_path: Path) -> None:
    async def scenario(cluster: Cluster) -> None:
        board = await cluster.board("a")
        reading, writing = os.pipe()
        async with board.member(**QUICK | {"lease_s": 1000, "ack_deadline_s": 1000}) as member:
            await member.settled()
            child = os.fork()
            if child == 0:
                os.write(writing, repr((member.is_leader(), member.topology().is_current)).encode())
                while True:
                    signal.pause()
            assert await asyncio.to_thread(os.read, reading, 100) == b"(False, False)"
            assert member.is_leader()
        try:
            async with board.member(**QUICK) as again:
                await again.settled()
        finally:
            os.kill(child, signal.SIGKILL)
            await asyncio.to_thread(os.waitpid, child, 0)
            os.close(reading)
            os.close(writing)

    run(scenario, tmp_path)


def test_a_second_member_of_one_process_is_told_that_the_first_one_has_the_identity(tmp_path: Path) -> None:
    first = Identity.claim(tmp_path, lambda: "a")
    with pytest.raises(MembershipEnded, match="another member of this process keeps"):
        Identity.claim(tmp_path, lambda: "a")
    first.close()


def test_an_identity_is_closed_only_when_it_has_been_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    identity = Identity.claim(tmp_path, lambda: "a")
    closing, truncate = threading.Thread(target=identity.close), os.ftruncate

    def close_meanwhile(descriptor: int, size: int) -> None:
        closing.start()
        closing.join(0.2)
        truncate(descriptor, size)  # of another file, if it was closed, and that opened since then

    monkeypatch.setattr(os, "ftruncate", close_meanwhile)
    identity.keep("life")
    closing.join()
    assert "life" in (tmp_path / FILE).read_text()


def test_a_member_whose_event_loop_was_closed_says_so(tmp_path: Path) -> None:
    async def begin() -> Member:
        async with Callboard("memory:", base=tmp_path) as board:
            member = board.member(**QUICK)
            await member.start()
            await member.settled()
        return member

    async def go_on(member: Member) -> None:
        for call in (member.start, member.stop, member.settled):
            with pytest.raises(RequestRefused, match="was closed before it was stopped"):
                await call()

    member = asyncio.run(begin())
    assert not member.is_leader()
    asyncio.run(go_on(member))
