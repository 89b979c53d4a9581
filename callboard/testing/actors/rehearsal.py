"""One entity in a test: it is kept by the rules of the agent that keeps entities, and its code is watched."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from typing import NamedTuple

from callboard.actors.entities.deciding import Trial
from callboard.actors.entities.entity import Deleted, Entity, Facts
from callboard.actors.entities.entity_table import EntityTable
from callboard.actors.entities.held import FAULTS, Held
from callboard.actors.entities.processes.process import Task
from callboard.actors.entities.processes.tasks import todo
from callboard.door.actors.entities import entity_name
from callboard.errors import CallboardError, CommandRefused
from callboard.messages.codec import decode, encode
from callboard.messages.declared.upcasting import newest
from callboard.messages.entities.entity_mail import EntityCommand
from callboard.messages.entities.entity_messages import EntityCommitMessage
from callboard.messages.entities.sealing import opened, sealed
from callboard.messages.event import Event
from callboard.testing.actors.purity import watched

LINE_MAX = 100
"""Characters of an event in one line; a longer one has a line for each field."""


class Answer(NamedTuple):
    """What became of a command: its events, or the error that was raised."""

    events: tuple[Event, ...] = ()
    error: BaseException | None = None

    @property
    def code(self) -> str | None:
        """Of a refusal; None if it is none."""
        return self.error.code if isinstance(self.error, CommandRefused) else None

    def __str__(self) -> str:
        if isinstance(self.error, CommandRefused):
            return f"CommandRefused with the code {self.error.code!r}: {self.error}"
        return repr(self.error) if self.error else ", ".join(map(shown, self.events)) or "nothing"


class Rehearsal:
    """An entity of this class, new at first. Raises ``ConfigError`` if it is no class of entities."""

    def __init__(self, entity: type[Entity], key: str) -> None:
        entity_name(entity)
        self.entity, self.key = entity, key
        self.commits: list[EntityCommitMessage] = []
        self._table = EntityTable(entity())

    @property
    def state(self) -> Entity | None:
        """The state; None if there is none."""
        return self._held.state if self._held.exists else None

    @property
    def _held(self) -> Held:
        return self._table.find(self.key)

    def happen(self, event: Event) -> None:
        """Apply an event that is on the log, in a commit of its own. Raises ``AssertionError`` if it cannot be read."""
        ended, number = isinstance(event, Deleted), len(self.commits)
        commit = EntityCommitMessage(
            key=self.key, commit_id=number + 1, previous=number, version=number, command_id=f"event {number}",
            events=() if ended else (sealed(event),), ended=ended,
        )  # fmt: skip
        self._apply(commit, shown(event))

    def todo(self) -> tuple[Task, ...]:
        """The tasks in the present state. Raises ``AssertionError`` for wrong ones, or if ``todo`` is not pure."""
        with self._pure():
            first, second = todo(self.key, self._held), todo(self.key, self._held)
        if problem := first.problem or second.problem:
            raise AssertionError(problem)
        if first != second:
            tasks = f"{list(first.tasks.values())}, and then {list(second.tasks.values())}"
            raise AssertionError(f"{self.entity.__name__}.todo returned {tasks}; it must be pure")
        return tuple(first.tasks.values())

    def carry_out(self, command: Event, now_ns: int) -> Answer:
        """Decide a command, and apply its events. Raises ``AssertionError`` for all that would go wrong with it later:
        on the log, in another process, or when it is decided or applied again.
        """
        self._read_back(command)
        state, number, what = self._held.state, len(self.commits), f"on {shown(command)}"
        before = sealed(state)
        its = EntityCommand(key=self.key, command_id=f"command {number}", command=sealed(command))
        with self._pure():
            first, after = _first(state, command, Facts(self.key, self._held.exists, self._held.version, now_ns))
            decided = Trial(self._table.find, number, lambda: number + 1).decide(its, now_ns)
        outcome, commit = decided.outcome, decided.commit
        if outcome.problem and not outcome.refused:
            raise AssertionError(f"{what}, {outcome.problem}") from first.error
        if sealed(state) != before:
            raise AssertionError(f"{what}, decide changed {shown(state)} itself; it must be pure")
        ended = (Deleted(),) if commit is not None and commit.ended else ()
        refusal = CommandRefused(outcome.problem, code=outcome.code) if outcome.refused else None
        second = Answer((*map(opened, outcome.events), *ended), refusal)
        for each in first.events[: len(outcome.events)]:
            self._read_back(each)
        if (first.events, first.code) != (second.events, second.code):
            raise AssertionError(f"{what}, decide returned {first}, and then {second}; it must be pure")
        if commit is not None:
            self._apply(commit, what)
            if not ended and self._held.state != after:
                states = f"{shown(after)}, and then to {shown(self._held.state)}"
                raise AssertionError(f"{what}, evolve led to {states}; it must be pure")
            self.todo()
        return first

    def replay(self) -> None:
        """Apply all events again, to the states and to what their bytes are read as. Raises ``AssertionError`` if the
        state is another one then.
        """
        table, stored = EntityTable(self.entity()), self.entity()
        for offset, commit in enumerate(self.commits):
            table.apply(commit, offset)
            for each in map(opened, commit.events):
                stored = opened(sealed(stored.evolve(each)))  # type: ignore[assignment]  # also an entity
            stored = self.entity() if commit.ended else stored
        was = self._held.state
        for how, state in (("again", table.find(self.key).state), ("to states that were stored in between", stored)):
            if state != was:
                what = f"the events led to {shown(was)}, and applied {how} to {shown(state)}"
                raise AssertionError(f"{what}; evolve must be pure")

    def _apply(self, commit: EntityCommitMessage, what: str) -> None:
        state = self._held.state
        with self._pure():
            self._table.apply(decode(EntityCommitMessage, encode(commit)), len(self.commits))
        self.commits.append(commit)
        if self._held.problem:
            raise AssertionError(f"{what}, {self._held.problem}") from _error(state, commit)
        self._read_back(self._held.state)

    @contextmanager
    def _pure(self) -> Iterator[None]:
        with watched() as called:
            yield
        if called:
            name = self.entity.__name__
            raise AssertionError(f"{name} calls {called[0]}(); it must be pure: the time is in the facts of decide")

    def _read_back(self, event: Event) -> None:
        """Check that its bytes are read as the event."""
        try:
            back = opened(sealed(event))
        except (CallboardError, TypeError, ValueError) as error:
            raise AssertionError(f"{shown(event)} cannot be stored: {error}") from error
        if back != newest(event):
            raise AssertionError(f"{shown(event)} is read back as {shown(back)}; correct its fields")


def shown(event: object) -> str:
    """An event for people, without ``unknown``; in several lines if it is long."""
    if not isinstance(event, Event):
        return repr(event)
    name, known = type(event).__name__, [each.name for each in fields(event) if each.name != "unknown"]
    values = [f"{each}={getattr(event, each)!r}" for each in known]
    line = f"{name}({', '.join(values)})"
    return line if len(line) <= LINE_MAX else "\n".join((f"{name}(", *(f"    {each}," for each in values), ")"))


def _first(state: Entity, command: Event, facts: Facts) -> tuple[Answer, Entity]:
    """What is decided, and the state after it."""
    try:
        events = tuple(state.decide(command, facts))
        for each in events:
            state = state if isinstance(each, Deleted) else state.evolve(each)
    except FAULTS as error:
        return Answer(error=error), state
    return Answer(events), state


def _error(state: Entity, commit: EntityCommitMessage) -> BaseException | None:
    """Why the commit cannot be applied, for the stack trace."""
    try:
        for each in map(opened, commit.events):
            state = state.evolve(each)
    except FAULTS as error:
        return error
    return None
