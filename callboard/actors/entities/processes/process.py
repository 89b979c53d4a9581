"""What a service declares: an entity that sends commands to others, and to itself when a time has come."""

from collections.abc import Sequence
from dataclasses import dataclass

from callboard.actors.entities.entity import Entity
from callboard.messages.declared.declaration import declared
from callboard.messages.entities.entity_messages import DeclaredEvent
from callboard.messages.entities.sealing import opened
from callboard.messages.event import Event


@dataclass(frozen=True, slots=True)
class Ask:
    """Send a command to an entity until it has answered. The answer is the command ``Answered`` to the process.

    Attributes:
        name: of the task, unique in all the life of the process: the same name is the same command, carried out once.
        entity: the class of the entity.
        key: of the entity.
        command: a declared event.
    """

    name: str
    entity: type[Entity]
    key: str
    command: Event


@dataclass(frozen=True, slots=True)
class At:
    """Send the process itself a command at a time, or as soon as a process of the service runs after it.

    Attributes:
        name: of the task.
        time_ns: nanoseconds since the epoch.
        command: a declared event.
    """

    name: str
    time_ns: int
    command: Event


Task = Ask | At


@dataclass(frozen=True, slots=True, kw_only=True)
class Process(Entity):
    """The base of the states of processes: entities with something to do."""

    def todo(self, key: str) -> Sequence[Task]:  # noqa: ARG002 - every class has its own
        """The tasks in this state, in any order; pure. They are carried out once, and again after a crash, until a
        command has led to a state without them.
        """
        raise TypeError(f"{type(self).__name__} has no todo()")


@declared("callboard.told", version=1)
class Told(Event):
    """An event in an answer."""

    name: str
    version: int
    payload: bytes


@declared("callboard.answered", version=1)
class Answered(Event):
    """The command to a process that tells what became of a task.

    Attributes:
        task: the name of the ``Ask``.
        code: of the refusal; empty if the entity carried the command out.
        problem: why it was refused.
        told: the events that the command led to; see ``events``.
        repeated: the command was carried out before, and the events are not known any more.
    """

    task: str
    code: str = ""
    problem: str = ""
    told: tuple[Told, ...] = ()
    repeated: bool = False

    @property
    def events(self) -> tuple[Event, ...]:
        """The events that the command led to."""
        its = (DeclaredEvent(name=each.name, version=each.version, payload=each.payload) for each in self.told)
        return tuple(map(opened, its))
