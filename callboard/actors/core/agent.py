"""The description of an agent, as data, and the handle on a running one."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from callboard.actors.core.decision import DecisionFactory, Moment, Perform
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


@dataclass(frozen=True, slots=True)
class ActorSpec:
    """One actor: its role, unique in the agent, and how to make its decision."""

    role: str
    decision: DecisionFactory
    settings: Any


@dataclass(frozen=True, slots=True)
class AgentSpec:
    """An agent: its name for display, its actors, and how to open the world they act on.

    For actors in processes of their own, everything in here is picklable: classes, module-level functions,
    ``functools.partial`` of these, frozen settings.
    """

    name: str
    actors: tuple[ActorSpec, ...]
    world: Callable[[], Awaitable[World]]


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
