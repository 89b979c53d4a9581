"""The service's questions to the agent that keeps the entities of a class. Never on the log."""

from dataclasses import dataclass

from callboard.messages.entities.entity_messages import DeclaredEvent
from callboard.messages.event import Event
from callboard.messages.question import Question


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityCommand(Event):
    """A command to the entity ``key``. A command with the same id is carried out once."""

    key: str
    command_id: str
    command: DeclaredEvent


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityOutcome(Event):
    """What became of a command: the entity's ``version`` after it, and the ``offset`` of its commit, -1 if the command
    changed nothing. Of a ``repeated`` command, the events are not known any more. ``problem`` is why it was not carried
    out, with a ``code``: the entity's own if it ``refused`` the command.
    """

    version: int = 0
    offset: int = -1
    events: tuple[DeclaredEvent, ...] = ()
    repeated: bool = False
    problem: str = ""
    code: str = ""
    refused: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityOutcomes(Event):
    """The outcomes of ``EntityCommands``, in their order."""

    outcomes: tuple[EntityOutcome, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityCommands(Question[EntityOutcomes]):
    """Carry out these commands, in their order; answered when the log has what they did."""

    commands: tuple[EntityCommand, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityState(Event):
    """The state of an entity, when everything up to ``offset`` had been read. ``version`` is 0 if there is none."""

    state: DeclaredEvent | None = None
    version: int = 0
    offset: int = -1
    problem: str = ""
    code: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityQuery(Question[EntityState]):
    """The state of the entity ``key``, once everything up to the offset ``after`` has been read."""

    key: str
    after: int = -1
