"""What an entity decides, in one line of a test: ``given(Account, *events).when(command).then(*events)``."""

from datetime import UTC, datetime, timedelta
from difflib import ndiff
from typing import Any, Self

from callboard.actors.entities.entity import Deleted, Entity
from callboard.actors.entities.processes.process import Task
from callboard.door.actors import entities as door
from callboard.door.rules import Unfit, checked, instance_of, several
from callboard.errors import ConfigError
from callboard.messages.event import Event
from callboard.testing.actors.rehearsal import Answer, Rehearsal, shown

NOW = datetime(2026, 1, 1, tzinfo=UTC)

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

EVENTS_MAX = 100_000
"""In one test: they take about a second."""


def _event(value: Any) -> Event:
    if isinstance(value, Deleted):
        return value
    try:
        return door.command(value)
    except Unfit as unfit:
        raise Unfit(value, f"{unfit.expected}, or Deleted()") from None


RULES = {"events": several(_event, EVENTS_MAX), "now": instance_of(datetime)}


class Decision:
    """What an entity has decided; each method raises ``AssertionError`` if it is something else."""

    def __init__(self, rehearsal: Rehearsal, command: Event, answer: Answer) -> None:
        self._rehearsal, self._command, self._answer = rehearsal, command, answer

    def then(self, *events: Event) -> Self:
        """These events, ``Deleted()`` included."""
        its = checked(ConfigError, RULES, {"events": events})["events"]
        if self._answer != (its, None):
            self._differ("decided something else", [shown(each) for each in its] or ["nothing"], self._found())
        return self

    def then_nothing(self) -> Self:
        """No events, and no refusal."""
        return self.then()

    def then_refused(self, code: str) -> Self:
        """It raised ``CommandRefused`` with this code."""
        if self._answer.code != code:
            expected = [f"CommandRefused with the code {code!r}"]
            self._differ("decided something else", expected, self._found())
        return self

    def then_state(self, state: Entity | None) -> Self:
        """The entity has this state now; None: there is none, or no longer."""
        if state is not None and not isinstance(state, self._rehearsal.entity):
            raise ConfigError(f"{state!r:.80} is no state; give a {self._rehearsal.entity.__name__}, or None")
        if (found := self._rehearsal.state) != state:
            self._differ("has another state", [shown(state)], [shown(found)])
        return self

    def then_todo(self, *tasks: Task) -> Self:
        """The process has these tasks now, in any order."""
        wanted, found = sorted(map(repr, tasks)), sorted(map(repr, self._rehearsal.todo()))
        if wanted != found:
            self._differ("has something else to do", wanted or ["nothing"], found or ["nothing"])
        return self

    def _found(self) -> list[str]:
        return (
            [str(self._answer)] if self._answer.error else [shown(each) for each in self._answer.events] or ["nothing"]
        )

    def _differ(self, what: str, expected: list[str], found: list[str]) -> None:
        lines = ndiff("\n".join(expected).splitlines(), "\n".join(found).splitlines())
        difference = "\n".join(line.rstrip() for line in lines)
        name = f"{self._rehearsal.entity.__name__} {self._rehearsal.key!r}"
        raise AssertionError(f"on {shown(self._command)}, {name} {what} (-: expected, +: found):\n{difference}")


class Given:
    """An entity in a test, after some events."""

    def __init__(self, rehearsal: Rehearsal, now_ns: int) -> None:
        self._rehearsal, self._now_ns = rehearsal, now_ns

    def when(self, command: Event) -> Decision:
        """Let the entity decide a command, and apply the events.

        Raises:
            RequestRefused: it is no declared event.
            AssertionError: it would fail outside this test: the decision raises an error other than ``CommandRefused``,
                or is not pure; an event or the state cannot be stored; ``evolve`` does not accept an event.
        """
        its = door.asked(command=command)["command"]
        return Decision(self._rehearsal, its, self._rehearsal.carry_out(its, self._now_ns))


def given(entity: type[Entity], *events: Event, key: str = "key", now: datetime = NOW) -> Given:
    """An entity to which these events have happened, each in a commit of its own.

    It needs no event loop and no log, and takes less than a millisecond. What it accepts, ``board.entities`` does.

    Args:
        entity: its class.
        events: what has happened, also in older versions; after ``Deleted()`` the entity is a new one.
        key: its key, in the ``Facts``.
        now: the time of the decision, in UTC if it has no zone; by default the beginning of 2026.

    Raises:
        ConfigError: wrong arguments.
        AssertionError: the events cannot be read, or ``evolve`` does not accept them.
    """
    its = checked(ConfigError, RULES, {"events": events, "now": now})
    rehearsal = Rehearsal(entity, door.asked(key=key)["key"])
    for each in its["events"]:
        rehearsal.happen(each)
    return Given(rehearsal, ns_of(its["now"]))


def ns_of(moment: datetime) -> int:
    """Nanoseconds since the epoch."""
    zoned = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return (zoned - EPOCH) // timedelta(microseconds=1) * 1000
