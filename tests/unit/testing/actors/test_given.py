"""A decision of an entity, told in one line of a test."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

import pytest

from callboard.actors import Deleted, Entity, Event, Facts, event
from callboard.errors import ConfigError, RequestRefused
from callboard.testing.actors import given
from tests.unit.actors.entities.bank import Account, Close, Move, Moved


@event("test_given.lend", version=1)
class Lend(Event):
    days: int


@event("test_given.lent", version=2)
class Lent(Event):
    key: str
    version: int
    due_ns: int


@event("test_given.lent", version=1)
class LentInDays(Event):
    days: int

    def upcast(self) -> Event:
        return Lent(key="", version=0, due_ns=self.days)


@event("test_given.book", version=1)
class Book(Entity):
    """Tells its facts, and has some faults."""

    due_ns: int = 0

    def decide(self, command: Event, facts: Facts) -> Sequence[Event]:
        assert isinstance(command, Lend)
        match command.days:
            case -1:
                raise LookupError("no such day")
            case -2:
                return [Moved(cents=1)]
            case -3:
                return None  # type: ignore[return-value]  # the fault
            case -4:
                return [Lent(key="a\ud800", version=1, due_ns=1)]
        return [Lent(key=facts.key, version=facts.version, due_ns=facts.now_ns)]

    def evolve(self, event: Event) -> "Book":
        if not isinstance(event, Lent):
            raise TypeError("a book is lent, nothing else")
        return Book(due_ns=event.due_ns)


def test_the_events_and_the_state_of_a_command_are_told() -> None:
    given(Account, Moved(cents=5)).when(Move(cents=-3)).then(Moved(cents=-3)).then_state(Account(cents=2))
    given(Account, Moved(cents=5)).when(Move(cents=0)).then_nothing().then_state(Account(cents=5))


def test_a_refusal_is_told_by_its_code() -> None:
    given(Account, Moved(cents=5)).when(Move(cents=-6)).then_refused("overdrawn").then_state(Account(cents=5))


def test_an_entity_is_deleted_and_created_again() -> None:
    given(Account, Moved(cents=5)).when(Close()).then(Deleted()).then_state(None)
    given(Account, Moved(cents=5), Deleted()).when(Close()).then_refused("unknown").then_state(None)
    given(Account, Moved(cents=5), Deleted()).when(Move(cents=1)).then(Moved(cents=1)).then_state(Account(cents=1))


def test_the_facts_are_those_of_the_test() -> None:
    now = datetime(2031, 5, 6, 7, 8, 9, 123456)  # noqa: DTZ001 - taken as UTC
    due_ns = 1_935_817_689_123_456_000
    assert datetime.fromtimestamp(due_ns // 10**9, UTC) == now.replace(microsecond=0, tzinfo=UTC)
    book = given(Book, LentInDays(days=7), key="moby", now=now)
    book.when(Lend(days=1)).then(Lent(key="moby", version=1, due_ns=due_ns))


def test_events_in_older_versions_are_read_as_what_they_are_today() -> None:
    given(Book, LentInDays(days=7)).when(Lend(days=1)).then_state(Book(due_ns=1_767_225_600 * 10**9))
    with pytest.raises(AssertionError, match="has another state"):
        given(Book, LentInDays(days=7)).when(Lend(days=1)).then_state(Book(due_ns=7))


EXPECTATIONS: dict[str, Callable[[], Any]] = {
    "- Moved(cents=-9)\n+ CommandRefused with the code 'overdrawn': key has only 5": (
        lambda: given(Account, Moved(cents=5)).when(Move(cents=-9)).then(Moved(cents=-9))
    ),
    "- Moved(cents=1)\n?             ^\n+ Moved(cents=2)\n?             ^": (
        lambda: given(Account).when(Move(cents=2)).then(Moved(cents=1))
    ),
    "  Moved(cents=1)\n- Moved(cents=2)": (
        lambda: given(Account).when(Move(cents=1)).then(Moved(cents=1), Moved(cents=2))
    ),
    "- nothing\n+ Moved(cents=1)": lambda: given(Account).when(Move(cents=1)).then_nothing(),
    "- CommandRefused with the code 'late'\n": lambda: given(Account).when(Move(cents=1)).then_refused("late"),
    "CommandRefused with the code 'overdrawn'": lambda: given(Account).when(Move(cents=-1)).then_refused("closed"),
    "- None\n+ Account(cents=1)": lambda: given(Account).when(Move(cents=1)).then_state(None),
}


@pytest.mark.parametrize("difference", EXPECTATIONS)
def test_what_is_not_as_expected_is_shown_as_a_difference(difference: str) -> None:
    with pytest.raises(AssertionError) as found:
        EXPECTATIONS[difference]()
    assert difference in str(found.value)


@pytest.mark.proves("A31")
@pytest.mark.parametrize(
    ("days", "problem", "cause"),
    [
        (-1, "Book.decide failed: LookupError: no such day", LookupError),
        (-2, "cannot be applied: TypeError: a book is lent, nothing else", TypeError),
        (-3, "it returned None; return a tuple of events", TypeError),
        (-4, "Book.decide failed: UnicodeEncodeError", None),
    ],
)
def test_what_would_fail_later_fails_the_test(days: int, problem: str, cause: type[Exception] | None) -> None:
    with pytest.raises(AssertionError) as found:
        given(Book).when(Lend(days=days))
    assert problem in str(found.value)
    assert cause is None or isinstance(found.value.__cause__, cause), "its stack trace is shown"


def test_an_event_that_does_not_fit_the_entity_cannot_be_given() -> None:
    with pytest.raises(AssertionError, match=r"Moved.* cannot be applied: TypeError: a book is lent"):
        given(Book, Moved(cents=1))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: given(Account()), "is no class of entities"),  # type: ignore[arg-type]  # wrong on purpose
        (lambda: given(Account, [Moved(cents=1)]), "events.0. is "),  # type: ignore[arg-type]  # likewise
        (lambda: given(Account, Moved), "should be a declared event.*or Deleted"),  # type: ignore[arg-type]  # likewise
        (lambda: given(Account, now=3), "should be a datetime"),  # type: ignore[arg-type]  # likewise
        (lambda: given(Account, key=""), "key is ''"),
        (lambda: given(Account).when(Deleted()), "should be a declared event"),
        (lambda: given(Account).when(Move(cents=1)).then(Moved), "a declared event"),  # type: ignore[arg-type]
        (lambda: given(Account).when(Move(cents=1)).then_state(Book()), "give a Account, or None"),
    ],
)
def test_wrong_use_is_refused(wrong: Callable[[], Any], message: str) -> None:
    with pytest.raises((ConfigError, RequestRefused), match=message):
        wrong()
