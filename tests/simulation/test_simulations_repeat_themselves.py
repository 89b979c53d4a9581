"""The simulator: the seed decides everything, and virtual time costs nothing."""

import asyncio
import os
import subprocess
import sys
import time
from pathlib import Path
from random import Random

import pytest

from callboard.actors.core.agent import Agent
from callboard.actors.runtime.simulated.simulated import Simulation
from callboard.actors.runtime.simulated.virtual_loop import StuckError
from callboard.errors import NotAnswered
from callboard.testing.conformance.runtime_example import example_agent, word


async def drama(simulation: Simulation, diary: Path) -> list[int]:
    """Two agents, concurrent questions, kills, and a day of waiting."""
    agents = [await simulation.start(example_agent(diary, name)) for name in ("one", "two")]
    answers = []
    for _ in range(5):
        agent: Agent = simulation.rng.choice(agents)
        questions = [agent.ask("echo", word(f"word {n}", n), 10) for n in range(5)]
        await agent.kill(simulation.rng.choice(["counter", "friend"]))
        await asyncio.gather(*questions)
        answer = await agent.ask("counter", word("luck"), 10)
        answers.append(answer.offset)  # type: ignore[attr-defined]
        await asyncio.sleep(24 * 3600 / 5)
    for agent in agents:
        await agent.stop(5)
    return answers


def play(seed: int, diary: Path) -> tuple[str, list[int], float]:
    with Simulation(seed) as simulation:
        answers = simulation.run(drama(simulation, diary))
        return simulation.trace, answers, simulation.loop.time()


def test_the_same_seed_gives_the_same_trace_and_another_seed_another(tmp_path: Path) -> None:
    first = play(1, tmp_path / "diary")
    assert play(1, tmp_path / "diary") == first
    traces = {play(seed, tmp_path / "diary")[0] for seed in range(10)}
    assert len(traces) == 10
    assert first[0] in traces


def test_the_trace_does_not_depend_on_the_process(tmp_path: Path) -> None:
    traces = set()
    for hash_seed in ("1", "2"):
        done = subprocess.run(
            [sys.executable, __file__, str(tmp_path / "diary")],
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        )
        traces.add(done.stdout.splitlines()[-1])
    assert traces == {play(7, tmp_path / "diary")[0]}


def test_a_virtual_day_takes_no_time(tmp_path: Path) -> None:
    begin = time.process_time()
    _, _, virtual_s = play(3, tmp_path / "diary")
    assert virtual_s > 24 * 3600
    assert time.process_time() - begin < 5


def test_the_seed_decides_the_order_of_delivery_between_pairs(tmp_path: Path) -> None:
    async def arrivals(simulation: Simulation) -> tuple[str, ...]:
        agent = await simulation.start(example_agent(tmp_path / "diary"))
        done: list[str] = []

        async def one(role: str) -> None:
            await agent.ask(role, word("count"), 10)
            done.append(role)

        await asyncio.gather(*map(one, ("counter", "echo", "friend")))
        await agent.stop(1)
        return tuple(done)

    orders = set()
    for seed in range(40):
        with Simulation(seed) as simulation:
            orders.add(simulation.run(arrivals(simulation)))
    assert len(orders) == 6


def test_mail_between_two_actors_keeps_its_order(tmp_path: Path) -> None:
    async def scenario(simulation: Simulation) -> None:
        agent = await simulation.start(example_agent(tmp_path / "diary"))
        added = [asyncio.ensure_future(agent.ask("counter", word("add", 1), 1)) for _ in range(10)]
        await asyncio.sleep(0)
        answer = await agent.ask("counter", word("count"), 10)
        assert answer.offset >= 110  # type: ignore[attr-defined]
        assert [type(error) for error in await asyncio.gather(*added, return_exceptions=True)] == [NotAnswered] * 10
        await agent.stop(1)

    for seed in range(20):
        with Simulation(seed) as simulation:
            simulation.run(scenario(simulation))


def test_a_simulation_can_pass_time_and_wait_for_conditions() -> None:
    with Simulation(1) as simulation:
        simulation.run_for(10)
        assert simulation.clock.now().mono_s == 10
        simulation.run_until(lambda: simulation.clock.now().mono_s > 15, within_s=10)
        with pytest.raises(TimeoutError):
            simulation.run_until(lambda: False, within_s=3)
        assert simulation.clock.now().wall_ns > 1_700_000_018 * 10**9


def test_a_simulation_in_which_nothing_can_happen_reports_it() -> None:
    with Simulation(1) as simulation, pytest.raises(StuckError):
        simulation.run(asyncio.Event().wait())


def test_the_seed_decides_the_order_in_which_blocking_calls_end() -> None:
    async def race() -> list[int]:
        ended: list[int] = []

        async def one(number: int) -> None:
            ended.append(await asyncio.to_thread(abs, number))

        await asyncio.gather(*map(one, range(8)))
        return ended

    def run(seed: int) -> list[int]:
        with Simulation(seed) as simulation:
            return simulation.run(race())

    assert run(1) == run(1)
    assert run(1) != run(2)
    assert sorted(run(1)) == list(range(8))


def test_the_example_survives_kills_at_any_moment(tmp_path: Path) -> None:
    async def scenario(simulation: Simulation, rng: Random) -> None:
        agent = await simulation.start(example_agent(tmp_path / "diary"))
        for _ in range(6):
            asked = [asyncio.ensure_future(agent.ask("echo", word(f"w{n}", n), 60)) for n in range(3)]
            await asyncio.sleep(rng.uniform(0, 0.01))
            await agent.kill("echo")
            assert {answer.command_id for answer in await asyncio.gather(*asked)} == {"W0", "W1", "W2"}  # type: ignore[attr-defined]
        assert [actor.role for actor in agent.actors()] == ["counter", "echo", "friend"]
        await agent.stop(1)

    for seed in range(30):
        with Simulation(seed) as simulation:
            simulation.run(scenario(simulation, simulation.rng))


if __name__ == "__main__":
    sys.stdout.write(f"{play(7, Path(sys.argv[1]))[0]}\n")
