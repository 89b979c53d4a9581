"""What a decision or an effect of a service does wrong ends its actor, and neither the service nor other actors."""

import asyncio
from asyncio import CancelledError
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Literal

import pytest

from callboard import Callboard
from callboard.actors import (
    ActorSpec,
    After,
    Agent,
    AgentSpec,
    Done,
    Effect,
    Event,
    Input,
    Moment,
    Origin,
    Perform,
    Question,
    Reply,
    Send,
    Started,
    Stopped,
    Stopping,
    Tick,
    event,
)
from tests.refused import refused

PATIENCE_S = 60.0
TOO_LARGE = 1 << 70
LATER_S = 40 * 86_400.0
"""Longer than a process can sleep at a time."""

Runtime = Literal["embedded", "processes"]


@event("bad_actors.said", version=1)
class Said(Event):
    number: int = 0


@event("bad_actors.do", version=1)
class Do(Question[Said]):
    what: str = ""


@dataclass(frozen=True, slots=True)
class Exit(Perform):
    pass


async def leave(effect: Exit) -> None:
    raise SystemExit(3)


class Bad:
    """Does what it is asked to do."""

    def __init__(self, settings: None, rng: Random) -> None:
        self._asked = Origin("")

    def receive(self, message: Input, origin: Origin, now: Moment) -> Iterable[Effect]:
        match message:
            case Do(what=what):
                self._asked = origin
                return DOES[what](origin)
            case Tick() | Done():
                return [Reply(self._asked, Said(number=TOO_LARGE))]
            case Stopping():
                return [Stopped()]
        return []


def leaves(origin: Origin) -> Iterable[Effect]:
    raise SystemExit(3)


def cancels(origin: Origin) -> Iterable[Effect]:
    raise CancelledError


DOES: dict[str, Callable[[Origin], Iterable[Effect]]] = {
    "exit": leaves,
    "cancel": cancels,
    "effect": lambda origin: [Exit()],
    "itself": lambda origin: [Send("bad", Said())],
    "never": lambda origin: [After("never", float("inf"))],
    "number": lambda origin: [After("number", float("nan"))],
    "answer": lambda origin: [Reply(origin, Said(number=TOO_LARGE))],
    "later": lambda origin: [After("later", 0.01)],
    "mail": lambda origin: [Send("timekeeper", Said(number=TOO_LARGE))],
    "right": lambda origin: [Reply(origin, Said(number=7))],
}


class Timekeeper:
    """Has two timers, one that never fires in a test and one that fires all the time, and counts the second."""

    def __init__(self, settings: None, rng: Random) -> None:
        self._count = 0

    def receive(self, message: Input, origin: Origin, now: Moment) -> Iterable[Effect]:
        match message:
            case Started():
                return [After("later", LATER_S), After("at once", 0)]
            case Tick(key):
                assert key == "at once"
                self._count += 1
                return [After("at once", 0)]
            case Do():
                return [Reply(origin, Said(number=self._count))]
            case Stopping():
                return [Stopped()]
        return []


SPEC = AgentSpec("bad", (ActorSpec("bad", Bad, None), ActorSpec("timekeeper", Timekeeper, None)), effects={Exit: leave})


def run(folder: Path, runtime: Runtime, scenario: Callable[[Agent], Awaitable[None]]) -> None:
    async def on_board() -> None:
        async with Callboard("sqlite:///./board", base=folder, runtime=runtime) as board:
            await scenario(await board.start(SPEC))

    asyncio.run(asyncio.wait_for(on_board(), PATIENCE_S))


async def is_refused(agent: Agent, what: str, words: str) -> None:
    with refused("crashed") as raised:
        await agent.ask("bad", Do(what=what), PATIENCE_S)
    assert words in str(raised.value)
    assert await agent.ask("bad", Do(what="right"), PATIENCE_S) == Said(number=7)


@pytest.mark.parametrize("runtime", ["embedded", "processes"])
def test_what_ends_a_program_ends_only_the_actor(tmp_path: Path, runtime: Runtime) -> None:
    async def scenario(agent: Agent) -> None:
        await is_refused(agent, "exit", "SystemExit: 3")
        await is_refused(agent, "cancel", "CancelledError")
        await is_refused(agent, "effect", "SystemExit: 3")

    run(tmp_path, runtime, scenario)


@pytest.mark.parametrize("runtime", ["embedded", "processes"])
def test_effects_that_would_be_lost_in_silence_are_bugs(tmp_path: Path, runtime: Runtime) -> None:
    async def scenario(agent: Agent) -> None:
        await is_refused(agent, "itself", "mail to itself")
        await is_refused(agent, "never", "timer 'never' was set to inf seconds")
        await is_refused(agent, "number", "timer 'number' was set to nan seconds")

    run(tmp_path, runtime, scenario)


def test_mail_that_cannot_be_sent_to_another_process_is_a_bug_of_its_sender(tmp_path: Path) -> None:
    async def scenario(agent: Agent) -> None:
        for what in ("answer", "later", "mail"):
            await is_refused(agent, what, "out of range")

    run(tmp_path, "processes", scenario)


@pytest.mark.parametrize("runtime", ["embedded", "processes"])
def test_an_actor_with_a_timer_that_always_fires_and_a_very_long_one_gets_its_mail(
    tmp_path: Path, runtime: Runtime
) -> None:
    async def scenario(agent: Agent) -> None:
        counts = [(await agent.ask("timekeeper", Do(), PATIENCE_S)).number for _ in range(3)]
        while counts[-1] <= counts[0]:
            counts.append((await agent.ask("timekeeper", Do(), PATIENCE_S)).number)
        assert {status.epoch for status in agent.actors()} == {1}

    run(tmp_path, runtime, scenario)
