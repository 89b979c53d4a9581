"""The messages between supervisor, gateway and shells about starting, living and stopping.

Plain, small and picklable. None of them carries an event of an actor: ``mail.py`` does.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from callboard.actors.core.agent import ActorSpec
from callboard.actors.runtime.actor_system.actors import ActorAddress
from callboard.actors.runtime.frames import Outlet
from callboard.actors.runtime.site import Site
from callboard.actors.runtime.supervision import Limits


class Control:
    """The base: printed by name, because thespian formats every message it handles."""

    __slots__ = ()

    def __str__(self) -> str:
        return type(self).__name__


@dataclass(frozen=True, slots=True, repr=False)
class StartAgent(Control):
    """To the supervisor, once: the full description of the agent.

    ``epochs`` are the last incarnations of an earlier system that this one replaces.
    """

    name: str
    actors: tuple[ActorSpec, ...]
    seed: int
    limits: Limits
    epochs: Mapping[str, int]
    site: Site
    outlet: Outlet


@dataclass(frozen=True, slots=True, repr=False)
class OpenGateway(Control):
    """To the gateway, once: what connects it with the service."""

    outlet: Outlet


@dataclass(frozen=True, slots=True, repr=False)
class Route(Control):
    """This actor is up, in this incarnation, at this address."""

    role: str
    epoch: int
    address: ActorAddress
    pid: int


@dataclass(frozen=True, slots=True, repr=False)
class RouteLost(Control):
    """This incarnation is gone."""

    role: str
    epoch: int


@dataclass(frozen=True, slots=True, repr=False)
class Hello(Control):
    """To a new shell, once: its identity, the roles that it can mail to, and the routes to the peers that are up."""

    agent: str
    actor: ActorSpec
    epoch: int
    seed: int
    site: Site
    roles: frozenset[str]
    routes: tuple[Route, ...]


@dataclass(frozen=True, slots=True, repr=False)
class Up(Control):
    """To the supervisor: ready for mail."""

    role: str
    epoch: int
    pid: int


@dataclass(frozen=True, slots=True, repr=False)
class Beat(Control):
    """To a shell and back: proof that it still handles messages."""

    role: str
    epoch: int


@dataclass(frozen=True, slots=True, repr=False)
class Crashed(Control):
    """To the supervisor: replace me after a bug, which was hit at the service's ``question`` if that is not 0."""

    role: str
    epoch: int
    pid: int
    reason: str
    question: int = 0


@dataclass(frozen=True, slots=True, repr=False)
class StopAgent(Control):
    """To the supervisor: end everything, giving the actors up to ``drain_s`` seconds."""

    drain_s: float


@dataclass(frozen=True, slots=True, repr=False)
class StopActor(Control):
    """To a shell: let the decision finish."""


@dataclass(frozen=True, slots=True, repr=False)
class ActorStopped(Control):
    """To the supervisor: the decision has finished, by itself or because it was asked to."""

    role: str
    epoch: int


@dataclass(frozen=True, slots=True, repr=False)
class AgentStopped(Control):
    """To the gateway: no actor runs any more."""
