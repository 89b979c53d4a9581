"""What a service declares: a table that is made of events, and commands that events lead to."""

from collections.abc import Iterable, Sequence
from typing import ClassVar, Generic, NamedTuple, TypeVar

from callboard.actors.entities.entity import Entity
from callboard.actors.entities.processes.process import Ask
from callboard.messages.event import Event

Row = TypeVar("Row", bound=Event)

Source = type[Entity] | str
"""A class of entities, or the name of a topic with declared events."""


class Recorded(NamedTuple):
    """An event on the log.

    Attributes:
        source: the class of entities, or the name of the topic.
        key: of the entity; empty on a topic of the service's own.
        event: in its newest version; ``Deleted`` if the entity was deleted.
        version: of the entity, after the commit of the event; 0 on a topic of the service's own.
        offset: on the topic.
        place: of the event among those of its commit, from 0.
        time_ns: when it was appended, by the writer's clock: nanoseconds since the epoch.
    """

    source: Source
    key: str
    event: Event
    version: int
    offset: int
    place: int
    time_ns: int


class Projection(Generic[Row]):
    """A table whose rows are the sum of events. Declare one as ``class Balances(Projection[Balance])``.

    The row, here ``Balance``, is a declared event whose fields are the columns: int, str, bytes, bool, float or an
    ``IntEnum``. Its name gives the name of the table, and its version is that of the projection: increase it when
    the code or the sources change, and the table is made again beside the old one.

    Both methods are pure, as those of entities are.
    """

    sources: ClassVar[Sequence[Source]] = ()

    def keys(self, recorded: Recorded) -> Iterable[str]:
        """The keys of the rows that an event changes: by default that of the entity."""
        return (recorded.key,)

    def evolve(self, key: str, row: Row | None, recorded: Recorded) -> Row | None:  # noqa: ARG002 - has its own
        """The row with this key after the event; None is no row."""
        raise TypeError(f"{type(self).__name__} has no evolve()")


class Reaction:
    """Commands that follow from events. Declare one as ``class Fulfil(Reaction)``; the ``name`` is that of its place in
    the store, where it goes on after a restart. ``react`` is pure.
    """

    name: ClassVar[str] = ""
    sources: ClassVar[Sequence[Source]] = ()

    def react(self, recorded: Recorded) -> Iterable[Ask]:  # noqa: ARG002 - every class has its own
        """The commands that an event leads to. Each is sent until it is answered; the names tell those of one
        event apart.
        """
        raise TypeError(f"{type(self).__name__} has no react()")
