"""The description of an agent, as data, and the handle on a running one."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from callboard.actors.core.decision import DecisionFactory, Moment, Perform
from callboard.errors import ConfigError
from callboard.messages.question import A, Question

GATEWAY = "gateway"
"""The role through which the service outside speaks with the actors of an agent."""


class Clock(Protocol):
    """Tells the time."""

    def now(self) -> Moment:
        """The present moment."""
        ...


class World(Protocol):
    """Carries out the effects of an agent's actors."""

    async def perform(self, effect: Perform) -> Any:
        """The effect's result. Raises ``CallboardError`` for what the decision must deal with; anything else is a
        bug and ends the actor.
        """
        ...

    async def close(self) -> None:
        """Release everything this world opened; idempotent."""
        ...


EffectFunction = Callable[[Any], Awaitable[Any]]
"""Carries out an effect: takes it, and returns its result. Raises as ``World.perform``."""


async def of_the_board() -> World:
    """The world of an agent without one of its own; the board opens it in place of this."""
    raise ConfigError("this agent has no world; start it by `board.start(agent)`, or give it one")


@dataclass(frozen=True, slots=True)
class ActorSpec:
    """One actor: its role, unique in the agent, and how to make its decision."""

    role: str
    decision: DecisionFactory
    settings: Any


@dataclass(frozen=True, slots=True)
class AgentSpec:
    """An agent, for ``Callboard.start``.

    For actors in processes of their own, everything in here is picklable: classes, module-level functions,
    ``functools.partial`` of these, frozen settings.

    Attributes:
        name: for display, in logs and errors.
        actors: one or more, each with a role of its own.
        world: opens what carries out their effects; by default the board, with its log and the ``effects`` below.
        topics: of the board's log, created at the start; the actors can append to these alone, and read any.
        effects: by their class, the asynchronous functions that carry out effects that the board does not know.
    """

    name: str
    actors: tuple[ActorSpec, ...]
    world: Callable[[], Awaitable[World]] = of_the_board
    topics: tuple[str, ...] = ()
    effects: Mapping[type[Perform], EffectFunction] = field(default_factory=dict)


class ActorStatus(NamedTuple):
    """A running actor: ``epoch`` counts its incarnations from 1, ``pid`` is its process."""

    role: str
    epoch: int
    pid: int


class Agent(Protocol):
    """A running agent, on any runtime. Use it from the event loop that started it."""

    async def ask(self, role: str, question: Question[A], timeout_s: float) -> A:
        """Mail the question to an actor and wait for its reply.

        The question is mailed again when the actor restarts meanwhile, so questions must be idempotent; but only once
        if the actor crashed at this question. The answer has the type that the question's class declares: ``TypeError``
        otherwise, which is a bug. Raises ``NotAnswered`` after the timeout, ``RequestRefused`` when the actor
        has crashed at it twice, and ``AgentFailed`` (or the error that the ``AgentProblem`` stands for) if the agent
        cannot continue.
        """
        ...

    def actors(self) -> tuple[ActorStatus, ...]:
        """The actors that are up."""
        ...

    async def kill(self, role: str) -> None:
        """For chaos: end this actor at once, without warning; the supervisor replaces it."""
        ...

    @property
    def has_ended(self) -> bool:
        """Whether it was stopped, or has failed."""
        ...

    async def ended(self) -> None:
        """Wait until the agent has ended. Returns after ``stop``; raises what ended it otherwise."""
        ...

    async def stop(self, drain_s: float) -> None:
        """End the agent: actors get up to ``drain_s`` seconds to finish their work. Idempotent."""
        ...
