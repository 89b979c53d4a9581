"""The service's questions to the agent that keeps the entities of a class. Never on the log."""

from dataclasses import dataclass

from callboard.messages.entities.entity_messages import DeclaredEvent, FoldPlace
from callboard.messages.event import Event
from callboard.messages.question import Question


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityCommand(Event):
    """A command to the entity ``key``. A command with the same id is carried out once. With a ``version``, it is
    refused unless the entity has this version; ``events`` are committed as they are, in place of a ``command``.

    With ``is_final`` the outcome is recorded in any case, also a refusal. So it stays the same, however often and from
    where the command is sent; otherwise, a command that was refused may be carried out when it is repeated.

    With ``searched``, the topic has no commit of the command below this offset; the code ``forgotten`` tells that the
    entity does not know all commands since. -1: it does not matter. ``traceparent`` goes into the header of the commit.
    """

    key: str
    command_id: str
    command: DeclaredEvent | None = None
    version: int = -1
    events: tuple[DeclaredEvent, ...] = ()
    is_final: bool = False
    searched: int = -1
    traceparent: str = ""


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


@dataclass(frozen=True, slots=True, kw_only=True)
class FoldState(Event):
    """How far a fold is. ``problem``: why it does not go on, or ``standby``: another process does its work.

    Of entities, ``held`` are in memory; the state of ``unreadable`` is not known; ``active`` processes have work to do.
    Of a reaction, ``active`` commands are on their way, and ``refused`` were. ``troubles`` tells what is wrong.
    """

    places: tuple[FoldPlace, ...] = ()
    problem: str = ""
    standby: bool = False
    is_live: bool = False
    held: int = 0
    unreadable: int = 0
    active: int = 0
    refused: int = 0
    troubles: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FoldQuery(Question[FoldState]):
    """How far a fold is, once it has read the topic up to the offset ``after``, and stored what came of it."""

    topic: str = ""
    after: int = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class FoldRebuild(Question[FoldState]):
    """Make the rows again, beside the present ones."""
