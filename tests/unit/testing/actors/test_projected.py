"""Projections, reactions and processes in one line of a test, and the code that these lines find fault with."""

import time
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import pytest

from callboard import ConfigError, RequestRefused
from callboard.actors import Answered, Ask, At, Deleted, Event, Process, Projection, Reaction, Recorded, event
from callboard.testing.actors import asks_of, check_entity, check_projection, given, rows_of
from examples.bank.bank import (
    Account,
    Balance,
    Balances,
    Closed,
    Deposit,
    Give,
    Moved,
    Phase,
    Take,
    Transfer,
    TransferMovedOn,
    TransferOrder,
    TransferOrdered,
)
from examples.stock.stock import FillUp, Receive, Shelf, Shipped
from tests.examples.worlds import bank_survival

ORDERED = TransferOrdered(source="alice", target="bob", cents=5)


def test_a_table_is_made_of_events() -> None:
    rows = rows_of(Balances, ("alice", Moved(cents=5)), ("bob", Moved(cents=1)), ("alice", Closed()))
    assert rows == {"alice": Balance(cents=5, changes=1, closed=True), "bob": Balance(cents=1, changes=1)}


def test_the_commands_of_a_reaction_are_told() -> None:
    assert asks_of(FillUp, ("cup", Shipped(order="o", pieces=1, left=9))) == []
    asks = asks_of(FillUp, ("cup", Shipped(order="o", pieces=1, left=1)))
    assert asks == [Ask("fill up", Shelf, "cup", Receive(pieces=5))]


def test_the_tasks_of_a_process_are_told() -> None:
    order = TransferOrder(source="alice", target="bob", cents=5)
    take = Ask("take", Account, "alice", Take(cents=5))
    given(Transfer).when(order).then(ORDERED).then_todo(take)
    moving = given(Transfer, ORDERED).when(Answered(task="take"))
    moving.then(TransferMovedOn(phase=Phase.GIVING)).then_todo(Ask("give", Account, "bob", Give(cents=5)))
    refused = given(Transfer, ORDERED).when(Answered(task="take", code="overdrawn", problem="no"))
    refused.then(TransferMovedOn(phase=Phase.FAILED, why="no")).then_todo()
    with pytest.raises(AssertionError, match="has something else to do"):
        given(Transfer).when(order).then_todo()


def test_the_examples_pass_their_checks() -> None:
    check_entity(Account, bank_survival.story, seeds=20)
    check_entity(Transfer, bank_survival.story, seeds=20)
    check_projection(Balances, bank_survival.story, seeds=20)


class Remembers(Projection[Balance]):
    sources = (Account,)
    seen = 0

    def evolve(self, key: str, row: Balance | None, recorded: Recorded) -> Balance:
        self.seen += 1
        return Balance(changes=self.seen)


class AsksTheTime(Projection[Balance]):
    sources = (Account,)

    def evolve(self, key: str, row: Balance | None, recorded: Recorded) -> Balance:
        return Balance(cents=int(time.time()))


class Raises(Projection[Balance]):
    sources = (Account,)

    def evolve(self, key: str, row: Balance | None, recorded: Recorded) -> Balance:
        raise KeyError("no")


class ReturnsNonsense(Projection[Balance]):
    sources = (Account,)

    def evolve(self, key: str, row: Balance | None, recorded: Recorded) -> Any:
        return {"cents": 5}


class HasStrangeKeys(Projection[Balance]):
    sources = (Account,)

    def keys(self, recorded: Recorded) -> Any:
        return (5,)

    def evolve(self, key: str, row: Balance | None, recorded: Recorded) -> Balance:
        return Balance()


class TooLarge(Projection[Balance]):
    sources = (Account,)

    def evolve(self, key: str, row: Balance | None, recorded: Recorded) -> Balance:
        return Balance(cents=1 << 70)


@pytest.mark.parametrize(
    ("projection", "words"),
    [
        (Remembers, "and in other batches"),
        (AsksTheTime, "it must be pure"),
        (Raises, "cannot be folded: KeyError: 'no'"),
        (ReturnsNonsense, "evolve returned {'cents': 5}, not a Balance or None"),
        (HasStrangeKeys, r"keys\(\) returned \(5,\)"),
        (TooLarge, "cannot be folded"),
    ],
)
def test_a_projection_that_cannot_be_relied_on_is_found(projection: type[Projection[Balance]], words: str) -> None:
    events = [("alice", Moved(cents=5)), ("alice", Moved(cents=6)), ("bob", Moved(cents=1))]
    with pytest.raises(AssertionError, match=words):
        rows_of(projection, *events)
    with pytest.raises(AssertionError, match="run it again with seed="):
        check_projection(projection, bank_survival.story, seeds=5)


class SendsTwice(Reaction):
    name = "twice"
    sources = (Shelf,)

    def react(self, recorded: Recorded) -> Any:
        return [Ask("same", Shelf, "cup", Receive(pieces=1)), Ask("same", Shelf, "cup", Receive(pieces=2))]


class SendsToNobody(SendsTwice):
    def react(self, recorded: Recorded) -> Any:
        return [Ask("one", Shelf, "line\nfeed", Receive(pieces=1))]


class SendsText(SendsTwice):
    def react(self, recorded: Recorded) -> Any:
        return ["hello"]


@pytest.mark.parametrize("reaction", [SendsTwice, SendsToNobody, SendsText])
def test_a_reaction_that_cannot_be_relied_on_is_found(reaction: type[Reaction]) -> None:
    with pytest.raises(AssertionError, match=r"cannot be folded: (Type|Value)Error"):
        asks_of(reaction, ("cup", Shipped(order="o", pieces=1, left=1)))


@event("test_projected.go", version=1)
class Go(Event):
    how: str


@event("test_projected.went", version=1)
class Went(Event):
    how: str


@event("test_projected.walk", version=1)
class Walk(Process):
    how: str = ""

    def decide(self, command: Event, facts: Any) -> Any:
        return [Went(how=command.how)] if isinstance(command, Go) else []

    def evolve(self, event: Event) -> "Walk":
        assert isinstance(event, Went)
        return Walk(how=event.how)

    def todo(self, key: str) -> Any:
        return TASKS[self.how]()


TASKS: dict[str, Callable[[], Any]] = {
    "": tuple,
    "right": lambda: [At("later", 5, Go(how="right")), Ask("a", Account, "alice", Deposit(cents=1))],
    "raises": lambda: 1 // 0,
    "none": lambda: None,
    "text": lambda: ["go"],
    "same name": lambda: [Ask("a", Account, "alice", Deposit(cents=1)), Ask("a", Account, "bob", Deposit(cents=1))],
    "no entity": lambda: [Ask("a", Deposit, "alice", Deposit(cents=1))],  # type: ignore[arg-type]
    "no key": lambda: [Ask("a", Account, "", Deposit(cents=1))],
    "no event": lambda: [Ask("a", Account, "alice", "deposit")],  # type: ignore[arg-type]
    "time": lambda: [At("later", time.time_ns(), Go(how="right"))],
    "too many": lambda: [At(str(number), number, Go(how="right")) for number in range(1001)],
}


def test_tasks_may_have_times_and_commands() -> None:
    given(Walk).when(Go(how="right")).then_todo(*TASKS["right"]())


@pytest.mark.parametrize("how", [how for how in TASKS if how not in {"", "right"}])
def test_tasks_that_cannot_be_relied_on_are_found(how: str) -> None:
    with pytest.raises(AssertionError, match=r"todo|pure"):
        given(Walk).when(Go(how=how))


def nothing(_: Random) -> Iterator[Any]:
    yield from ()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: rows_of(Account, ("a", Moved(cents=1))), "is no projection"),
        (lambda: rows_of(Balances, "alice"), "give its key and the event"),
        (lambda: rows_of(Balances, ("alice", Moved(cents=1)), source=Shelf), "give one of its classes"),
        (lambda: asks_of(Balances, ("alice", Moved(cents=1))), "is no reaction"),
        (lambda: check_projection(Balances, nothing, seeds=2), "no seed has an event"),
        (lambda: rows_of(Balances, ("", Moved(cents=1))), "key is ''"),
        (lambda: rows_of(Balances, ("alice", "moved")), "command is 'moved'"),
    ],
)
def test_wrong_arguments_are_refused(call: Callable[[], Any], words: str) -> None:
    with pytest.raises((ConfigError, RequestRefused), match=words):
        call()


def test_a_deleted_entity_is_told() -> None:
    with pytest.raises(AssertionError, match="AttributeError"):
        rows_of(Deletes, ("alice", Deleted()))


class Deletes(Projection[Balance]):
    sources = (Account,)

    def evolve(self, key: str, row: Balance | None, recorded: Recorded) -> Balance:
        return Balance(cents=recorded.event.cents)  # type: ignore[attr-defined]
