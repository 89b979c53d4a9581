"""A small agent that uses everything a runtime provides: questions, mail, timers, effects, restarts, problems.

Every question is a ``CommandRequest`` and every answer a ``CommandSent``, each read as a word and a number.
"""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

from callboard.actors.core.agent import GATEWAY, ActorSpec, AgentSpec
from callboard.actors.core.decision import (
    After,
    Done,
    Effect,
    Failed,
    Input,
    Moment,
    Origin,
    PeerUp,
    Perform,
    Reply,
    Send,
    Started,
    Stopped,
    Stopping,
    Tick,
)
from callboard.errors import LogUnavailable
from callboard.messages.distribution.fleet_mail import CommandRequest, CommandSent
from callboard.messages.distribution.mailbox import AgentProblem, Problem
from callboard.messages.distribution.topic_messages import CommandMessage


def word(what: str, number: int = 0) -> CommandRequest:
    """A question, or mail."""
    command = CommandMessage(subscriber_instance="", subscriber="", command_id=what, position=number)
    return CommandRequest(command=command)


def said(what: str, number: int = 0) -> CommandSent:
    """An answer."""
    return CommandSent(command_id=what, offset=number)


def heard(message: Input) -> Input | tuple[str, int]:
    """A question or mail as its word and number; anything else unchanged."""
    if isinstance(message, CommandRequest):
        return message.command.command_id, message.command.position
    return message


@dataclass(frozen=True, slots=True)
class Shout(Perform):
    """Result: the text in capitals, after a number of seconds."""

    text: str
    seconds: float = 0.0


class ShoutingWorld:
    """Carries out ``Shout`` and writes a diary, one line each."""

    def __init__(self, diary: Path) -> None:
        self._diary = diary

    async def perform(self, effect: Perform) -> Any:
        """``fail`` fails as a world may, ``bug`` as it must not."""
        assert isinstance(effect, Shout)
        await asyncio.sleep(effect.seconds)
        if effect.text == "fail":
            raise LogUnavailable("nobody hears it; shout again")
        if effect.text == "bug":
            raise KeyError("bug")
        self._write(effect.text.upper())
        return effect.text.upper()

    async def close(self) -> None:
        """Write that to the diary, too."""
        self._write("closed")

    def _write(self, line: str) -> None:
        with self._diary.open("a") as diary:
            diary.write(f"{line}\n")


async def open_shouting_world(diary: Path) -> ShoutingWorld:
    """The world of the example."""
    return ShoutingWorld(diary)


class Counter:
    """Adds up numbers; a replacement starts from zero."""

    def __init__(self, settings: int, rng: Random) -> None:
        self._total = settings
        self._luck = rng.randrange(1 << 30)
        self._ticks = 0
        self._waiting: dict[str, Origin] = {}

    def receive(self, message: Input, origin: Origin, now: Moment) -> Iterable[Effect]:  # noqa: PLR0911
        """Asked to ``add``, ``count``, ``luck``, ``crash``, ``fuse`` and ``tick`` (in n ms), or ``rearm``."""
        match heard(message):
            case ("add", int() as number):
                self._total += number
            case ("count", _):
                return [Reply(origin, said("count", self._total))]
            case ("luck", _):
                return [Reply(origin, said("luck", self._luck))]
            case ("crash", _):
                raise RuntimeError("asked to crash")
            case ("fuse", int() as milliseconds):
                return [After("crash", milliseconds / 1000)]
            case Tick("crash"):
                raise RuntimeError("asked to crash")
            case ("rearm", _):
                return [After("late", 60), After("late", 0.01), After("never", 0.005), After("never", -1)]
            case ("ticks", _):
                return [Reply(origin, said("ticks", self._ticks))]
            case ("tick", int() as milliseconds):
                self._waiting["tick"] = origin
                return [After("tick", milliseconds / 1000)]
            case Tick("tick"):
                return [Reply(self._waiting.pop("tick"), said("tick", round(now.mono_s * 1000)))]
            case Tick():
                self._ticks += 1
            case Stopping():
                return [Stopped()]
        return []


class Echo:
    """Shouts on request, and finishes shouting before it stops."""

    def __init__(self, settings: None, rng: Random) -> None:  # noqa: ARG002  # every decision is made this way
        self._asked: dict[Shout, Origin] = {}
        self._stopping = False

    def receive(self, message: Input, origin: Origin, now: Moment) -> Iterable[Effect]:  # noqa: ARG002
        """Shouts any text it is asked, for n ms; ``problem`` ends the agent instead."""
        match heard(message):
            case ("problem", int() as number):
                problem = AgentProblem(problem=Problem(number), reason="asked to; do not ask")
                return [Send(GATEWAY, problem)]
            case (str() as text, int() as milliseconds):
                shout = Shout(text, milliseconds / 1000)
                self._asked[shout] = origin
                return [shout]
            case Done(Shout() as shout, result):
                return [Reply(self._asked.pop(shout), said(result)), *self._rest()]
            case Failed(Shout() as shout, error):
                return [Reply(self._asked.pop(shout), said(type(error).__name__)), *self._rest()]
            case Stopping():
                self._stopping = True
                return self._rest()
        return []

    def _rest(self) -> list[Effect]:
        return [Stopped()] if self._stopping and not self._asked else []


class Friend:
    """Tells every new counter a number, and counts how often each peer came up."""

    def __init__(self, settings: int, rng: Random) -> None:  # noqa: ARG002
        self._number = settings
        self._seen: dict[str, int] = {}

    def receive(self, message: Input, origin: Origin, now: Moment) -> Iterable[Effect]:  # noqa: ARG002
        """Asked for the name of a peer, answers with how often it came up."""
        match heard(message):
            case Started():
                return [After("again", 3600)]
            case PeerUp(role):
                self._seen[role] = self._seen.get(role, 0) + 1
                return [Send(role, word("add", self._number))] if role == "counter" else []
            case (str() as role, _):
                return [Reply(origin, said(role, self._seen.get(role, 0)))]
            case Stopping():
                return [Stopped()]
        return []


def example_agent(diary: Path, name: str = "example") -> AgentSpec:
    """The agent; its world writes into ``diary``."""
    return AgentSpec(
        name=name,
        actors=(
            ActorSpec("counter", Counter, 100),
            ActorSpec("echo", Echo, None),
            ActorSpec("friend", Friend, 7),
        ),
        world=partial(open_shouting_world, diary),
    )
