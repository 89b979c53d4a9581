"""What a service declares: an entity that sends commands to others, and to itself when a time has come."""

from collections.abc import Sequence
from dataclasses import dataclass

from callboard.actors.entities.entity import Entity
from callboard.messages.declared.declaration import declared
from callboard.messages.event import Event


@dataclass(frozen=True, slots=True)
class Ask:
    """Send a command to an entity until it has answered. The answer is the command ``Answered`` to the process. It is
    recorded with the entity, so it is the same however often the command is sent.

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


@declared("callboard.answered", version=1)
class Answered(Event):
    """The command to a process that tells what became of an ``Ask``.

    Attributes:
        task: its name.
        code: of the refusal; empty if the entity carried the command out.
        problem: why it was refused.
    """

    task: str
    code: str = ""
    problem: str = ""
