"""Entities, projections and reactions without an event loop."""

from typing import Generic, TypeVar

from callboard.actors.entities.entity import Entity
from callboard.board.entities import entities, projected
from callboard.board.entities.entities import ANSWER_S, EntityView
from callboard.messages.event import Event
from callboard.sync.agents import Agent
from callboard.sync.twin import Twin, starting, waiting

S = TypeVar("S", bound=Entity)
R = TypeVar("R", bound=Event)


class Entities(Twin[entities.Entities[S]], Generic[S]):
    """See ``callboard.Entities``. Created by ``Callboard.entities``."""

    start = starting(Agent, entities.Entities.start)
    send = waiting(entities.Entities.send)
    record = waiting(entities.Entities.record)

    def get(self, key: str, *, after: int = -1, timeout_s: float = ANSWER_S) -> EntityView[S]:
        """See ``callboard.Entities.get``."""
        return self._loop.run(self._asynchronous.get(key, after=after, timeout_s=timeout_s))


class Reacting(Twin[projected.Reacting]):
    """See ``callboard.Reacting``. Created by ``Callboard.reaction``."""

    start = starting(Agent, projected.Reacting.start)
    reached = waiting(projected.Reacting.reached)
    status = waiting(projected.Reacting.status)


class Projected(Twin[projected.Projected[R]], Generic[R]):
    """See ``callboard.Projected``. Created by ``Callboard.projection``."""

    start = starting(Agent, projected.Projected.start)
    reached = waiting(projected.Projected.reached)
    status = waiting(projected.Projected.status)
    rebuild = waiting(projected.Projected.rebuild)

    def get(self, key: str) -> R | None:
        """See ``callboard.Projected.get``."""
        return self._loop.run(self._asynchronous.get(key))
