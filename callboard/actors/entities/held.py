"""An entity as it is held in memory, and what a commit does to it."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from callboard.actors.entities.entity import Entity
from callboard.errors import CallboardError, SchemaTooNew
from callboard.messages.entities.entity_messages import EntityCommitMessage
from callboard.messages.event import Event

LAST = 100
"""Commits of an entity whose commands are known to be repeated, however old they are."""

WITHIN = 100_000
"""Offsets of the topic within which all commands are."""

FAULTS = (Exception, SystemExit)
"""What the service's code may raise: it fails one command or entity, and must not stop the others, or the process."""


class Made(NamedTuple):
    """The commit of a command: its id, the version after it, and its offset; why the command was refused, if it was."""

    commit_id: int
    version: int
    offset: int
    refusal: str = ""
    code: str = ""


@dataclass(slots=True)
class Held:
    """An entity: its ``state``, the number of its commits, the id of the last one, and the commits that commands made.

    ``problem`` is why the state is not known, with a ``code``: an event of it cannot be read, or is not accepted by
    the code of this process. The commits after it are only counted. ``as_of``: commits below this offset are in it.
    """

    state: Entity
    exists: bool = False
    version: int = 0
    last: int = 0
    made: dict[str, Made] = field(default_factory=dict)
    problem: str = ""
    code: str = ""
    as_of: int = 0

    def counts(self, commit: EntityCommitMessage, offset: int) -> bool:
        """Whether the commit at this offset was decided on this state. Then its command is no repeated one, since this
        state had all commands that are known.
        """
        return commit.previous == self.last and commit.version == self.version and offset >= self.as_of

    def known(self, command_id: str, offset: int) -> Made | None:
        """The commit of this command, if it is known when the topic has reached this offset. All keepers must know the
        same, so this depends on nothing but the log.
        """
        made = self.made.get(command_id)
        return made if made is not None and self._is_kept(made, offset) else None

    def forget(self, offset: int) -> None:
        """Remove commands that are no longer known at this offset: these are the first."""
        while self.made and not self._is_kept(self.made[oldest := next(iter(self.made))], offset):
            del self.made[oldest]

    def _is_kept(self, made: Made, offset: int) -> bool:
        return offset - made.offset <= WITHIN or self.version - made.version < LAST

    def apply(
        self, commit: EntityCommitMessage, events: Iterable[Event], offset: int, after: "Held | None" = None
    ) -> None:
        """Apply a commit that counts, with its events, which may fail to be read. If what it leads to was found out
        before, from this state, that is ``after``.
        """
        if after is not None:
            self.state, self.exists = after.state, after.exists
        elif not self.problem and (commit.events or commit.ended):
            try:
                self._evolve(events, commit.ended)
            except FAULTS as error:
                why = str(error) if isinstance(error, CallboardError) else f"{type(error).__name__}: {error}"
                self.problem = f"its commit at offset {offset} cannot be applied: {why}"
                self.code = "schema_too_new" if isinstance(error, SchemaTooNew) else "state_unknown"
        self.version += 1
        self.last = commit.commit_id
        self.made[commit.command_id] = Made(commit.commit_id, self.version, offset, commit.reason, commit.code)
        if len(self.made) > LAST:  # else none is forgotten
            self.forget(offset)

    def _evolve(self, events: Iterable[Event], ended: bool) -> None:
        state, cls = self.state, type(self.state)
        for each in events:
            state = state.evolve(each)
            if type(state) is not cls:
                raise TypeError(f"evolve returned a {type(state).__name__}, not a {cls.__name__}")
        self.state = cls() if ended else state
        self.exists = not ended
