"""The entities of a class by their topic alone: what counts, what it led to, and whether it had to."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from callboard.actors.entities.entity import Deleted, Entity, Facts
from callboard.actors.entities.held import Held
from callboard.actors.entities.processes.process import Process, Task
from callboard.actors.entities.processes.tasks import todo
from callboard.actors.entities.projections.projection import Recorded
from callboard.errors import CommandRefused
from callboard.messages.entities.entity_messages import EntityCommitMessage
from callboard.messages.entities.sealing import opened
from callboard.messages.event import Event
from callboard.messages.headers import RecordHeaders, open_record
from callboard.messages.record import Record
from callboard.testing.actors.rehearsal import shown


class Version(NamedTuple):
    """An entity after one of its commits."""

    state: Entity
    exists: bool = False


class Made(NamedTuple):
    """What a command made: the version after it, and the offset."""

    version: int
    offset: int


@dataclass
class History:
    """All versions of the entities of a class, and the events that count. ``commands`` has those of the story, by their
    ids.
    """

    entity: type[Entity]
    commands: dict[str, Event]
    note: Callable[[str], None]
    made: dict[str, Made] = field(default_factory=dict)
    _versions: dict[str, list[Version]] = field(default_factory=dict)
    recorded: list[Recorded] = field(default_factory=list)
    _last: dict[str, int] = field(default_factory=dict)

    def states(self) -> dict[str, Entity]:
        """The states of those that exist, by their keys."""
        return {key: its[-1].state for key, its in self._versions.items() if its[-1].exists}

    def tasks(self) -> list[tuple[str, Task]]:
        """The keys and tasks of processes. Raises ``AssertionError`` for wrong ones."""
        found = list[tuple[str, Task]]()
        for key, state in self.states().items() if issubclass(self.entity, Process) else ():
            its = todo(key, Held(state, exists=True))
            assert not its.problem, f"{key!r}: {its.problem}"
            found += [(key, task) for task in its.tasks.values()]
        return found

    def versions(self, key: str) -> list[Version]:
        """All versions of an entity; the first is that of a new one."""
        return self._versions.setdefault(key, [Version(self.entity())])

    def see(self, record: Record) -> bool:
        """Apply the commit in a record, and tell whether it counts. Raises ``AssertionError`` for one that is wrong."""
        commit, now_ns = open_record(record, EntityCommitMessage), RecordHeaders.parse(record.headers).time_ns
        key, versions = commit.key, self.versions(commit.key)
        if commit.previous != self._last.get(key, 0):
            return False
        events = tuple(map(opened, commit.events)) + (Deleted(),) * commit.ended
        self.note(f"offset {record.offset}: {key!r} {', '.join(map(shown, events))}")
        assert commit.command_id not in self.made, f"{commit.command_id} counts twice"
        if (command := self.commands.get(commit.command_id)) is not None:
            decided = self.decided(key, len(versions) - 1, command, now_ns)
            what = f"{commit.command_id} to {key!r} led to {', '.join(map(shown, events))}"
            assert decided == events, f"{what}, but on the state that the log has it leads to {_told(decided)}"
        state = versions[-1].state
        for each in map(opened, commit.events):
            state = state.evolve(each)
        exists = not commit.ended if events else versions[-1].exists
        versions.append(Version(self.entity() if commit.ended else state, exists))
        self._last[key] = commit.commit_id
        version = len(versions) - 1
        self.recorded += [
            Recorded(self.entity, key, event, version, record.offset, place, record.time_ns)
            for place, event in enumerate(events)
        ]
        self.made[commit.command_id] = Made(len(versions) - 1, record.offset)
        return True

    def decided(self, key: str, version: int, command: Event, now_ns: int) -> tuple[Event, ...] | str:
        """What this version of an entity decides: events, or the code of a refusal."""
        its = self.versions(key)[version]
        try:
            return tuple(its.state.decide(command, Facts(key, its.exists, version, now_ns)))
        except CommandRefused as error:
            return error.code


def _told(decided: tuple[Event, ...] | str) -> str:
    if isinstance(decided, str):
        return f"a refusal with the code {decided!r}"
    return ", ".join(map(shown, decided)) or "nothing"
