"""Processes are killed, frozen and hung, all of them: the actors, the system's own, and the service."""

# ruff: noqa: ASYNC110, ASYNC240  # what other processes do can only be polled

import asyncio
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

from callboard.actors.core.agent import ActorSpec, Agent, AgentSpec
from callboard.actors.runtime import Limits, start_agent
from callboard.actors.runtime.actor_system import leash
from callboard.errors import AgentFailed, ConfigError
from callboard.testing.conformance.runtime_example import example_agent, word

PATIENCE_S = 60.0
"""Far beyond what anything here takes, so that only a defect meets it."""

TIRELESS = Limits(backoff_s=(0.0,), max_restarts=10_000)
"""Without beats: a death that goes unnoticed must not be covered up by the search for hung actors."""


_of_other_tests: set[int] = set()


@pytest.fixture(autouse=True)
def _processes_of_other_tests_are_left_alone() -> Iterator[None]:
    _of_other_tests.update(leash.children(os.getpid()))
    yield
    _of_other_tests.clear()


@pytest.fixture
def chaos_actors(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    import chaos_actors

    return chaos_actors


def on_stage(
    spec: AgentSpec, scenario: Callable[[Agent], Coroutine[Any, Any, None]], limits: Limits = TIRELESS
) -> None:
    """Run the scenario with the agent, stop the agent, and check that none of its processes is left."""

    async def play() -> None:
        agent = await start_agent(spec, "processes", limits=limits)
        try:
            await scenario(agent)
        finally:
            await agent.stop(1)
        assert not children(os.getpid())

    asyncio.run(play())


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not condition():
            await asyncio.sleep(0.005)


def alive(pid: int) -> bool:
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


def children(parent: int) -> set[int]:
    return set(leash.children(parent)) - _of_other_tests


def family(ancestor: int) -> dict[int, str]:
    """All descendants that live, with their names."""
    found: dict[int, str] = {}
    for child in children(ancestor):
        if alive(child):
            found[child] = Path(f"/proc/{child}/comm").read_text().strip()
            found |= family(child)
    return found


def process(name: str) -> int:
    [pid] = [pid for pid, found in family(os.getpid()).items() if found == name]
    return pid


def epoch_of(agent: Agent, role: str) -> int:
    return next((actor.epoch for actor in agent.actors() if actor.role == role), 0)


async def all_answer(agent: Agent) -> None:
    for role in ("counter", "echo", "friend"):
        await agent.ask(role, word("count"), PATIENCE_S)


def test_every_process_has_a_name_and_dies_with_the_agent(tmp_path: Path) -> None:
    async def scenario(agent: Agent) -> None:
        await all_answer(agent)
        names = sorted(name for name in family(os.getpid()).values() if name.startswith("cb:"))
        system = ["cb:admin", "cb:gateway", "cb:host", "cb:logger", "cb:supervisor"]
        assert names == sorted([*system, "cb:counter", "cb:echo", "cb:friend"])

    on_stage(example_agent(tmp_path / "diary"), scenario)


def test_actors_killed_at_random_are_always_replaced_and_nothing_leaks(tmp_path: Path) -> None:
    async def scenario(agent: Agent) -> None:
        rng = Random(20)
        await all_answer(agent)
        supervisor = process("cb:supervisor")
        before = [len(list(Path(f"/proc/{pid}/fd").iterdir())) for pid in (os.getpid(), supervisor)]
        processes = len(family(os.getpid()))
        for _ in range(25):
            role = rng.choice(["counter", "echo", "friend"])
            epoch = epoch_of(agent, role)
            await agent.kill(role)
            await until(lambda role=role, epoch=epoch: epoch_of(agent, role) > epoch)  # type: ignore[misc]
            await all_answer(agent)
        await until(lambda: len(family(os.getpid())) == processes)
        after = [len(list(Path(f"/proc/{pid}/fd").iterdir())) for pid in (os.getpid(), supervisor)]
        assert after[0] <= before[0]
        assert after[1] <= before[1] + 4, "the supervisor keeps files of actors long dead"

    on_stage(example_agent(tmp_path / "diary"), scenario)


def test_actors_killed_all_at_once_are_all_replaced(tmp_path: Path) -> None:
    async def scenario(agent: Agent) -> None:
        await all_answer(agent)
        for role in ("counter", "echo", "friend"):
            await agent.kill(role)
        await until(lambda: all(epoch_of(agent, role) == 2 for role in ("counter", "echo", "friend")))
        await all_answer(agent)

    on_stage(example_agent(tmp_path / "diary"), scenario)


@pytest.mark.parametrize("name", ["cb:supervisor", "cb:gateway", "cb:admin", "cb:host"])
def test_a_killed_actor_system_is_replaced_with_all_its_actors(name: str, tmp_path: Path) -> None:
    async def scenario(agent: Agent) -> None:
        await all_answer(agent)
        await agent.kill("echo")
        await until(lambda: epoch_of(agent, "echo") == 2)
        old = family(os.getpid())
        asked = asyncio.ensure_future(agent.ask("counter", word("tick", 400), PATIENCE_S))
        await agent.ask("counter", word("count"), PATIENCE_S)
        os.kill(process(name), signal.SIGKILL)
        await asked
        await all_answer(agent)
        assert epoch_of(agent, "echo") == 3
        assert epoch_of(agent, "counter") == 2
        assert not [name for pid, name in old.items() if name.startswith("cb:") and alive(pid)]

    on_stage(example_agent(tmp_path / "diary"), scenario)


def test_an_agent_whose_system_keeps_dying_fails(tmp_path: Path) -> None:
    async def scenario(agent: Agent) -> None:
        for _ in range(4):
            await all_answer(agent)
            os.kill(process("cb:supervisor"), signal.SIGKILL)
            await until(lambda: not agent.actors())
        with pytest.raises(AgentFailed, match=r"lost 4 times .* start the agent again"):
            await agent.ended()

    on_stage(example_agent(tmp_path / "diary"), scenario)


def test_a_system_killed_while_it_replaces_another_is_replaced_as_well(tmp_path: Path) -> None:
    async def scenario(agent: Agent) -> None:
        await all_answer(agent)
        old = process("cb:host")
        os.kill(process("cb:supervisor"), signal.SIGKILL)
        await until(lambda: any(pid != old and alive(pid) for pid in children(os.getpid())))
        [starting] = [pid for pid in children(os.getpid()) if pid != old and alive(pid)]
        os.kill(starting, signal.SIGKILL)
        await all_answer(agent)

    on_stage(example_agent(tmp_path / "diary"), scenario)


def test_an_agent_whose_system_cannot_be_replaced_fails(tmp_path: Path) -> None:
    home_base = Path(tempfile.mkdtemp())  # a short path, for sockets

    async def play() -> None:
        agent = await start_agent(example_agent(tmp_path / "diary"), "processes", home_base=home_base)
        try:
            await all_answer(agent)
            shutil.rmtree(home_base)
            os.kill(process("cb:supervisor"), signal.SIGKILL)
            async with asyncio.timeout(PATIENCE_S):
                with pytest.raises(AgentFailed, match="No such file or directory"):
                    await agent.ended()
        finally:
            await agent.stop(1)

    asyncio.run(play())
    assert not family(os.getpid())


def test_actors_survive_the_death_of_the_logger(tmp_path: Path) -> None:
    async def scenario(agent: Agent) -> None:
        await all_answer(agent)
        old = process("cb:logger")
        os.kill(old, signal.SIGKILL)
        await until(lambda: list(family(os.getpid()).values()).count("cb:logger") == 1)
        assert process("cb:logger") != old
        await all_answer(agent)
        assert epoch_of(agent, "counter") == 1

    on_stage(example_agent(tmp_path / "diary"), scenario)


def test_a_frozen_actor_is_replaced(tmp_path: Path) -> None:
    async def scenario(agent: Agent) -> None:
        await all_answer(agent)
        frozen = process("cb:counter")
        os.kill(frozen, signal.SIGSTOP)
        await until(lambda: epoch_of(agent, "counter") == 2)
        assert not alive(frozen)
        await all_answer(agent)
        assert epoch_of(agent, "echo") == 1

    on_stage(example_agent(tmp_path / "diary"), scenario, replace(TIRELESS, beat_s=0.15))


def test_an_actor_that_never_starts_is_replaced_after_the_deadline(tmp_path: Path, chaos_actors: Any) -> None:
    async def scenario(agent: Agent) -> None:
        await agent.ask("late", word("count"), PATIENCE_S)
        assert epoch_of(agent, "late") == 2
        hung = int((tmp_path / "marker").read_text())
        await until(lambda: not alive(hung))

    actor = ActorSpec("late", chaos_actors.hang_once, tmp_path / "marker")
    spec = chaos_actors.agent_of(actor, tmp_path / "diary")
    on_stage(spec, scenario, replace(TIRELESS, start_deadline_s=0.5))


def test_an_actor_that_dies_while_it_starts_is_replaced(tmp_path: Path, chaos_actors: Any) -> None:
    async def scenario(agent: Agent) -> None:
        await agent.ask("late", word("count"), PATIENCE_S)
        assert epoch_of(agent, "late") == 2

    actor = ActorSpec("late", chaos_actors.die_once, tmp_path / "marker")
    on_stage(chaos_actors.agent_of(actor, tmp_path / "diary"), scenario)


def test_a_killed_service_takes_everything_with_it() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        script = Path(__file__).with_name("chaos_actors.py")
        service = subprocess.Popen(
            [sys.executable, str(script), name], cwd=name, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL
        )
        try:
            wait_until(lambda: (folder / "ready").exists() or service.poll() is not None)
            below = family(service.pid)
            assert len([name for name in below.values() if name.startswith("cb:")]) == 8
            assert list(folder.glob("callboard-*"))
            clone = int((folder / "clone").read_text())
            service.kill()
            service.wait()
            try:
                wait_until(lambda: {pid for pid in below if alive(pid)} == {clone})
                wait_until(lambda: not list(folder.glob("callboard-*")))
            finally:
                os.kill(clone, signal.SIGKILL)
        finally:
            service.kill()
            service.wait()


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def test_two_agents_with_processes_live_side_by_side(tmp_path: Path) -> None:
    async def scenario(one: Agent) -> None:
        other = await start_agent(example_agent(tmp_path / "other", "other"), "processes")
        await all_answer(other)
        await other.stop(1)
        await all_answer(one)

    on_stage(example_agent(tmp_path / "diary"), scenario)


def test_an_agent_that_cannot_be_sent_to_processes_is_refused(tmp_path: Path) -> None:
    spec = example_agent(tmp_path / "diary")
    unsendable = replace(spec, actors=(ActorSpec("x", lambda settings, rng: None, None),))  # type: ignore[arg-type]

    async def play() -> None:
        with pytest.raises(ConfigError, match="importable"):
            await start_agent(unsendable, "processes")

    asyncio.run(play())


def test_a_folder_too_deep_for_sockets_is_refused(tmp_path: Path) -> None:
    deep = tmp_path / ("x" * 100)
    deep.mkdir()

    async def play() -> None:
        with pytest.raises(ConfigError, match="TMPDIR"):
            await start_agent(example_agent(tmp_path / "diary"), "processes", home_base=deep)

    asyncio.run(play())
    assert list(deep.iterdir()) == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_termination_signal_to_the_child_processes_ends_none_of_them(number: signal.Signals, tmp_path: Path) -> None:
    async def scenario(agent: Agent) -> None:
        await all_answer(agent)
        before = family(os.getpid())
        for pid in before:
            os.kill(pid, number)
        await all_answer(agent)
        assert family(os.getpid()) == before
        assert [actor.epoch for actor in agent.actors()] == [1, 1, 1]

    on_stage(example_agent(tmp_path / "diary"), scenario)


def test_an_agent_can_be_stopped_while_its_system_is_being_replaced(tmp_path: Path) -> None:
    async def scenario(agent: Agent) -> None:
        await all_answer(agent)
        os.kill(process("cb:supervisor"), signal.SIGKILL)
        await until(lambda: not agent.actors())

    on_stage(example_agent(tmp_path / "diary"), scenario)
