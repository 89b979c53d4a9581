"""What a simulation's invariant is shown."""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar, cast

from callboard.actors.entities.entity import Entity
from callboard.actors.entities.projections.projection import Projection
from callboard.errors import ConfigError
from callboard.messages.event import Event
from callboard.messages.record import Record
from callboard.testing.actors.simulation.history import History

S = TypeVar("S", bound=Entity)
R = TypeVar("R", bound=Event)


class View:
    """The entities and the log at one moment of a simulation. ``ended``: all commands were answered, the faults are
    over, and nothing happens any more.
    """

    def __init__(
        self,
        histories: Mapping[type[Entity], History],
        log: Mapping[str, Sequence[Record]],
        rows: Mapping[type, Callable[[], Mapping[str, Event]]],
    ) -> None:
        self._histories, self._log, self._rows = histories, log, rows
        self.ended = False

    def states(self, entity: type[S]) -> dict[str, S]:
        """The states of the entities of a class that exist, by their keys."""
        if entity not in self._histories:
            raise ConfigError(f"{entity!r:.80} is not among the entities of this simulation; add it")
        return cast("dict[str, S]", self._histories[entity].states())

    def rows(self, projection: type[Projection[R]]) -> Mapping[str, R]:
        """The rows of a projection now, by their keys: they may be behind the entities, until ``ended``."""
        if projection not in self._rows:
            raise ConfigError(f"{projection!r:.80} is not among the projections of this simulation; add it")
        return cast("Mapping[str, R]", self._rows[projection]())

    def records(self, topic: str) -> Sequence[Record]:
        """The records on a topic of the agents so far; ``event_of`` decodes a declared event."""
        if topic not in self._log:
            raise ConfigError(f"no agent of this simulation has the topic {topic!r:.80}; it has {', '.join(self._log)}")
        return self._log[topic]
