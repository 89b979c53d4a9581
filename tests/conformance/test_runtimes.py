"""The example agent behaves alike in every runtime."""

# ruff: noqa: ASYNC110  # what other processes do can only be polled

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from callboard.actors.core.agent import ActorStatus, Agent, AgentSpec
from callboard.actors.runtime import Limits, start_agent
from callboard.actors.runtime.simulated.simulated import Simulation
from callboard.errors import (
    AgentFailed,
    CallboardError,
    NotAnswered,
    RepositoryBusy,
    RequestRefused,
    SchemaTooNew,
    SubscriberTaken,
)
from callboard.messages.distribution.mailbox import Problem
from callboard.testing.conformance.runtime_example import example_agent, word

PATIENCE_S = 60.0
"""Far beyond what anything here takes, so that only a defect meets it."""

LIMITS = Limits(backoff_s=(0.0, 0.2), max_restarts=5, beat_s=1)

Start = Callable[[AgentSpec], Awaitable[Agent]]
Scenario = Callable[[Agent], Coroutine[Any, Any, None]]


@pytest.fixture(params=["embedded", "processes", "simulated"])
def play(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[Scenario], list[str]]:
    """Plays a scenario on the example agent, stops the agent, and returns the diary of its world."""

    async def on_stage(start: Start, scenario: Scenario) -> None:
        agent = await start(example_agent(tmp_path / "diary"))
        try:
            await scenario(agent)
        finally:
            await agent.stop(PATIENCE_S)

    def play(scenario: Scenario) -> list[str]:
        if request.param == "simulated":
            with Simulation(seed=1) as simulation:
                simulation.run(on_stage(lambda spec: simulation.start(spec, LIMITS), scenario))
        else:
            asyncio.run(on_stage(lambda spec: start_agent(spec, request.param, limits=LIMITS), scenario))
        diary = tmp_path / "diary"
        return diary.read_text().splitlines() if diary.exists() else []

    return play


Play = Callable[[Scenario], list[str]]


async def ask(agent: Agent, role: str, what: str, number: int = 0) -> tuple[str, int]:
    answer = await agent.ask(role, word(what, number), PATIENCE_S)
    return answer.command_id, answer.offset


async def until(condition: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not await condition():
            await asyncio.sleep(0.01)


def status_of(agent: Agent, role: str) -> ActorStatus | None:
    return next((actor for actor in agent.actors() if actor.role == role), None)


def test_a_question_is_answered(play: Play) -> None:
    async def scenario(agent: Agent) -> None:
        assert (await ask(agent, "counter", "count"))[0] == "count"

    play(scenario)


def test_mail_between_actors_arrives_and_every_actor_is_introduced_to_every_other_once(play: Play) -> None:
    async def scenario(agent: Agent) -> None:
        await until(lambda: counted(agent, 107))
        assert await ask(agent, "friend", "counter") == ("counter", 1)
        assert await ask(agent, "friend", "echo") == ("echo", 1)
        assert await ask(agent, "friend", "friend") == ("friend", 0)
        assert await ask(agent, "friend", "gateway") == ("gateway", 0)

    play(scenario)


async def counted(agent: Agent, total: int) -> bool:
    return (await ask(agent, "counter", "count"))[1] == total


def test_an_effect_returns_its_result_or_error(play: Play) -> None:
    async def scenario(agent: Agent) -> None:
        assert await ask(agent, "echo", "hello") == ("HELLO", 0)
        assert await ask(agent, "echo", "fail") == ("LogUnavailable", 0)

    assert play(scenario) == ["HELLO", "closed"]


def test_effects_of_one_actor_run_concurrently(play: Play) -> None:
    async def scenario(agent: Agent) -> None:
        slow = asyncio.ensure_future(ask(agent, "echo", "slow", 3000))
        quick = [ask(agent, "echo", f"quick {n}") for n in range(20)]
        assert await asyncio.gather(*quick) == [(f"QUICK {n}", 0) for n in range(20)]
        assert not slow.done()
        assert await slow == ("SLOW", 0)

    play(scenario)


def test_timers_expire_and_only_the_last_setting_counts(play: Play) -> None:
    async def scenario(agent: Agent) -> None:
        first = (await ask(agent, "counter", "tick", 0))[1]
        second = (await ask(agent, "counter", "tick", 50))[1]
        assert second - first >= 50
        rearmed = asyncio.ensure_future(agent.ask("counter", word("rearm"), 0.5))
        await until(lambda: ticked(agent))
        with pytest.raises(NotAnswered):
            await rearmed
        assert await ask(agent, "counter", "ticks") == ("ticks", 1)

    play(scenario)


async def ticked(agent: Agent) -> bool:
    return (await ask(agent, "counter", "ticks"))[1] > 0


@pytest.mark.proves("R8")
def test_an_unanswered_question_ends_at_its_deadline(play: Play) -> None:
    async def scenario(agent: Agent) -> None:
        with pytest.raises(NotAnswered, match="ask again with the same id"):
            await agent.ask("counter", word("no such question"), 0.05)

    play(scenario)


def test_a_question_to_an_unknown_actor_is_refused(play: Play) -> None:
    async def scenario(agent: Agent) -> None:
        with pytest.raises(RequestRefused, match="it has counter, echo, friend"):
            await agent.ask("stranger", word("count"), 1)

    play(scenario)


def test_a_killed_actor_is_replaced_and_its_peers_are_notified(play: Play) -> None:
    async def scenario(agent: Agent) -> None:
        luck = (await ask(agent, "counter", "luck"))[1]
        before = status_of(agent, "counter")
        assert before is not None
        assert before.epoch == 1
        await until(lambda: counted(agent, 107))
        await agent.kill("counter")
        await until(lambda: replaced(agent, before))
        await until(lambda: counted(agent, 107))  # it has lost its state, and its friend sent the number again
        assert await ask(agent, "friend", "counter") == ("counter", 2)
        assert (await ask(agent, "counter", "luck"))[1] != luck
        assert await ask(agent, "echo", "still here") == ("STILL HERE", 0)

    play(scenario)


async def replaced(agent: Agent, before: ActorStatus) -> bool:
    after = status_of(agent, before.role)
    return after is not None and after.epoch > before.epoch


def test_a_question_to_an_actor_that_dies_goes_to_its_successor(play: Play) -> None:
    async def scenario(agent: Agent) -> None:
        asked = asyncio.ensure_future(ask(agent, "counter", "tick", 300))
        await ask(agent, "counter", "count")
        await agent.kill("counter")
        assert (await asked)[0] == "tick"

    play(scenario)


def test_a_question_that_crashes_an_actor_twice_is_answered_with_the_error(play: Play) -> None:
    async def scenario(agent: Agent) -> None:
        before = await up(agent, "counter")
        with pytest.raises(RequestRefused, match="crashed with RuntimeError: asked to crash twice on CommandRequest"):
            await agent.ask("counter", word("crash"), PATIENCE_S)
        assert (await ask(agent, "counter", "count"))[0] == "count"
        assert (await up(agent, "counter")).epoch == before.epoch + 2

    play(scenario)


def test_a_question_whose_effect_crashes_an_actor_twice_is_answered_with_the_error(play: Play) -> None:
    async def scenario(agent: Agent) -> None:
        before = await up(agent, "echo")
        with pytest.raises(RequestRefused, match="crashed with KeyError: 'bug' twice on CommandRequest"):
            await agent.ask("echo", word("bug"), PATIENCE_S)
        await until(lambda: replaced(agent, before))
        assert await ask(agent, "echo", "well again") == ("WELL AGAIN", 0)

    play(scenario)


def test_questions_that_crash_an_actor_end_neither_the_agent_nor_other_questions(play: Play) -> None:
    async def scenario(agent: Agent) -> None:
        bad = [ask(agent, "counter", "crash") for _ in range(LIMITS.max_restarts)]
        good = [ask(agent, "counter", "count") for _ in range(3)]
        told = await asyncio.gather(*bad, *good, return_exceptions=True)
        assert [type(each) for each in told] == [RequestRefused] * len(bad) + [tuple] * len(good)
        assert not agent.has_ended

    play(scenario)


async def up(agent: Agent, role: str) -> ActorStatus:
    async with asyncio.timeout(PATIENCE_S):
        while (status := status_of(agent, role)) is None:
            await asyncio.sleep(0.01)
    return status


def test_an_actor_that_keeps_crashing_fails_the_agent(play: Play) -> None:
    async def scenario(agent: Agent) -> None:
        asked = asyncio.ensure_future(agent.ask("counter", word("fuse", 1), 60))
        with pytest.raises(AgentFailed, match=r"actor 'counter' failed more than 5 times .* asked to crash"):
            await agent.ended()
        with pytest.raises(AgentFailed):
            await asked
        with pytest.raises(AgentFailed):
            await agent.ask("echo", word("anyone"), 1)

    play(scenario)


@pytest.mark.parametrize(
    ("problem", "error"),
    [
        (Problem.SUBSCRIBER_TAKEN, SubscriberTaken),
        (Problem.REPOSITORY_BUSY, RepositoryBusy),
        (Problem.SCHEMA_TOO_NEW, SchemaTooNew),
        (Problem.ACTOR_FAILED, AgentFailed),
    ],
)
def test_a_problem_ends_the_agent_with_its_error(play: Play, problem: Problem, error: type[CallboardError]) -> None:
    async def scenario(agent: Agent) -> None:
        with pytest.raises(error, match="do not ask"):
            await agent.ask("echo", word("problem", problem), PATIENCE_S)
        with pytest.raises(error):
            await agent.ended()
        assert agent.actors() == ()

    play(scenario)


def test_a_stop_lets_an_actor_finish_its_work(play: Play) -> None:
    async def scenario(agent: Agent) -> None:
        asked = asyncio.ensure_future(ask(agent, "echo", "the last word", 100))
        await ask(agent, "echo", "ready")
        await agent.stop(PATIENCE_S)
        assert await asked == ("THE LAST WORD", 0)
        await agent.ended()

    assert play(scenario) == ["READY", "THE LAST WORD", "closed"]


def test_a_stop_does_not_wait_longer_than_its_limit(play: Play) -> None:
    async def scenario(agent: Agent) -> None:
        asked = asyncio.ensure_future(agent.ask("echo", word("too slow", 3_600_000), 7200))
        await ask(agent, "echo", "ready")
        await agent.stop(0.1)
        with pytest.raises(NotAnswered, match="was stopped"):
            await asked
        with pytest.raises(NotAnswered, match="was stopped"):
            await agent.ask("echo", word("anyone"), 1)

    assert "TOO SLOW" not in play(scenario)


def test_an_agent_stopped_at_once_ends(play: Play) -> None:
    async def scenario(agent: Agent) -> None:
        await asyncio.gather(agent.stop(1), agent.stop(1))
        await agent.ended()

    play(scenario)
