"""Entities without an event loop."""

from typing import Generic, TypeVar

from callboard.actors.entities.entity import Entity
from callboard.board.entities import entities
from callboard.board.entities.entities import ANSWER_S, Committed, EntityView
from callboard.messages.event import Event
from callboard.sync.agents import Agent
from callboard.sync.twin import Twin

S = TypeVar("S", bound=Entity)


class Entities(Twin[entities.Entities[S]], Generic[S]):
    """See ``callboard.Entities``. Created by ``Callboard.entities``."""

    def start(self) -> Agent:
        """See ``callboard.Entities.start``."""
        return Agent(self._loop, self._loop.run(self._asynchronous.start()))

    def send(self, key: str, command: Event, *, command_id: str = "", timeout_s: float = ANSWER_S) -> Committed:
        """See ``callboard.Entities.send``."""
        return self._loop.run(self._asynchronous.send(key, command, command_id=command_id, timeout_s=timeout_s))

    def get(self, key: str, *, after: int = -1, timeout_s: float = ANSWER_S) -> EntityView[S]:
        """See ``callboard.Entities.get``."""
        return self._loop.run(self._asynchronous.get(key, after=after, timeout_s=timeout_s))
