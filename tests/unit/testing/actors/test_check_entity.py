"""The checks of entities accept what can be kept on a log, and find what cannot."""

import random
import time
from collections.abc import Callable, Iterable, Sequence
from datetime import date
from random import Random
from typing import Any, ClassVar, Self
from uuid import uuid4

import pytest

from callboard.actors import Deleted, Entity, Event, Facts, event
from callboard.errors import CommandRefused, ConfigError, RequestRefused
from callboard.messages.event import replaced
from callboard.testing.actors import check_entity
from tests.unit.actors.entities.bank import Account, Close, Move


@event("test_check.count", version=1)
class Count(Event):
    by: int


@event("test_check.counted", version=1)
class Counted(Event):
    by: int
    note: str = ""


class Counting(Entity):
    """Counts up to 20; most of its heirs have a fault."""

    __slots__ = ()
    total: int

    def decide(self, command: Event, facts: Facts) -> Sequence[Event]:
        assert isinstance(command, Count)
        if self.total + command.by > 20:
            raise CommandRefused("it is full", code="full")
        return [Counted(by=command.by)]

    def evolve(self, event: Event) -> Self:
        assert isinstance(event, Counted)
        return replaced(self, total=self.total + event.by)


@event("test_check.counter", version=1)
class Counter(Counting):
    total: int = 0


@event("test_check.clock", version=1)
class Clock(Counting):
    total: int = 0

    def decide(self, command: Event, facts: Facts) -> Sequence[Event]:
        return [Counted(by=1, note=str(time.time_ns()))]


@event("test_check.today", version=1)
class Today(Counting):
    total: int = 0

    def decide(self, command: Event, facts: Facts) -> Sequence[Event]:
        return [Counted(by=1, note=date.today().isoformat())]  # noqa: DTZ011 - the fault


@event("test_check.dice", version=1)
class Dice(Counting):
    total: int = 0

    def decide(self, command: Event, facts: Facts) -> Sequence[Event]:
        return [Counted(by=random.randint(1, 6))]


@event("test_check.unique", version=1)
class Unique(Counting):
    total: int = 0

    def decide(self, command: Event, facts: Facts) -> Sequence[Event]:
        return [Counted(by=1, note=str(uuid4()))]


@event("test_check.numbered", version=1)
class Numbered(Counting):
    total: int = 0
    numbers: ClassVar[list[int]] = []

    def decide(self, command: Event, facts: Facts) -> Sequence[Event]:
        self.numbers.append(1)
        return [Counted(by=len(self.numbers))]


@event("test_check.moody", version=1)
class Moody(Counting):
    total: int = 0
    asked: ClassVar[list[int]] = []

    def decide(self, command: Event, facts: Facts) -> Sequence[Event]:
        self.asked.append(1)
        if len(self.asked) % 2:
            raise CommandRefused("not now")
        return [Counted(by=1)]


@event("test_check.dated", version=1)
class Dated(Counting):
    total: int = 0

    def evolve(self, event: Event) -> Self:
        return replaced(self, total=time.monotonic_ns())


@event("test_check.rememberer", version=1)
class Rememberer(Counting):
    total: int = 0
    seen: ClassVar[set[int]] = set()

    def evolve(self, event: Event) -> Self:
        assert isinstance(event, Counted)
        new = event.by not in self.seen
        self.seen.add(event.by)
        return replaced(self, total=self.total + event.by * new)


@event("test_check.largest", version=1)
class Largest(Counting):
    """Depends on what happened to others."""

    total: int = 0
    largest: int = 0
    known: ClassVar[list[int]] = [0]

    def evolve(self, event: Event) -> Self:
        assert isinstance(event, Counted)
        self.known[0] = max(self.known[0], self.total + event.by)
        return replaced(self, total=self.total + event.by, largest=self.known[0])


@event("test_check.hider", version=1)
class Hider(Counting):
    """Keeps something that is in no field, by its identity."""

    total: int = 0
    totals: ClassVar[dict[int, tuple[Any, int]]] = {}

    def evolve(self, event: Event) -> Self:
        assert isinstance(event, Counted)
        _, before = self.totals.get(id(self), (self, 0))
        after = replaced(self, total=before + event.by)
        self.totals[id(after)] = after, before + event.by
        return after


@event("test_check.changer", version=1)
class Changer(Counting):
    total: int = 0

    def decide(self, command: Event, facts: Facts) -> Sequence[Event]:
        object.__setattr__(self, "total", self.total + 1)
        return []


@event("test_check.strict", version=1)
class Strict(Counting):
    total: int = 0

    def evolve(self, event: Event) -> Self:
        assert isinstance(event, Counted)
        if self.total + event.by > 15:
            raise ValueError("15 at most")
        return replaced(self, total=self.total + event.by)


@event("test_check.large", version=1)
class Large(Counting):
    total: int = 0

    def evolve(self, event: Event) -> Self:
        return replaced(self, total=2**70)


@event("test_check.stranger", version=1)
class Stranger(Counting):
    total: int = 0

    def evolve(self, event: Event) -> Any:
        return Counter()


@event("test_check.chatty", version=1)
class Chatty(Counting):
    total: int = 0

    def decide(self, command: Event, facts: Facts) -> Sequence[Event]:
        return [Deleted(), Counted(by=1)]


def counting(entity: type[Counting]) -> Callable[[Random], Iterable[tuple[type[Entity], str, Event]]]:
    def story(random: Random) -> Iterable[tuple[type[Entity], str, Event]]:
        for _ in range(10):
            yield entity, random.choice("ab"), Count(by=random.randint(1, 4))

    return story


def moving(random: Random) -> Iterable[tuple[type[Entity], str, Event]]:
    for _ in range(20):
        command = Close() if random.random() < 0.1 else Move(cents=random.randint(-5, 5))
        yield Account, random.choice("ab"), command


def test_entities_that_can_be_kept_are_accepted() -> None:
    check_entity(Counter, counting(Counter))
    check_entity(Account, moving)


FAULTS: dict[type[Counting], str] = {
    Clock: r"Clock calls time.time_ns\(\); it must be pure",
    Today: r"Today calls date.today\(\)",
    Dice: r"Dice calls random.getrandbits\(\)",
    Unique: r"Unique calls os.urandom\(\)",
    Numbered: r"decide returned Counted\(by=1, note=''\), and then Counted\(by=2, note=''\)",
    Moody: "decide returned CommandRefused with the code 'refused': not now, and then Counted",
    Dated: r"Dated calls time.monotonic_ns\(\)",
    Rememberer: r"evolve led to Rememberer\(total=.\), and then to Rememberer\(total=.\); it must be pure",
    Largest: r"the events led to .*, and applied again to .*; evolve must be pure",
    Hider: "applied to states that were stored in between",
    Changer: "decide changed Changer.*; it must be pure|and then",
    Strict: "cannot be applied: ValueError: 15 at most",
    Large: "Large.* cannot be encoded: Value out of range",
    Stranger: "evolve returned a Counter, not a Stranger",
    Chatty: "Deleted is not the last of its events",
}


@pytest.mark.proves("A31")
@pytest.mark.parametrize("entity", FAULTS, ids=lambda entity: entity.__name__)
def test_a_fault_is_found_and_told_with_the_seed_and_the_commands(entity: type[Counting]) -> None:
    with pytest.raises(AssertionError, match=FAULTS[entity]) as found:
        check_entity(entity, counting(entity))
    assert "'a': Count(by=" in str(found.value) or "'b': Count(by=" in str(found.value)
    assert "run it again with seed=" in str(found.value)


def test_a_seed_can_be_run_again() -> None:
    with pytest.raises(AssertionError) as found:
        check_entity(Strict, counting(Strict))
    seed = int(str(found.value).rpartition("=")[2])
    with pytest.raises(AssertionError) as again:
        check_entity(Strict, counting(Strict), seed=seed)
    assert str(again.value) == str(found.value)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"entity": Account()}, "is no class of entities"),
        ({"entity": Move}, "is no class of entities"),
        ({"seeds": 0}, "seeds is 0, but should be a whole number from 1"),
        ({"seeds": -5}, "seeds is -5"),
        ({"seeds": 2.5}, r"seeds is 2\.5"),
        ({"seed": "7"}, "seed is '7'"),
        ({"story": 7}, "the story is 7, which cannot be called; write a story as"),
        ({"story": lambda random: None}, "the story returned None"),
        ({"story": lambda random: [Move(cents=1)]}, "command 1 of the story is .*; write a story as"),
        ({"story": lambda random: [(Account, "a")]}, "command 1 of the story is"),
        ({"story": lambda random: [(Account, "", Move(cents=1))]}, "command 1 of the story is wrong: key is ''"),
        ({"story": lambda random: [(Account, "a", "move")]}, "command 1 of the story is wrong: command is 'move'"),
        ({"story": lambda random: [("Account", "a", Move(cents=1))]}, "'Account' is no class of entities"),
        ({"story": lambda random: []}, "no seed has a command to Account"),
        ({"story": counting(Counter)}, "no seed has a command to Account"),
    ],
)
def test_wrong_use_is_refused(given: dict[str, Any], message: str) -> None:
    arguments: dict[str, Any] = {"entity": Account, "story": moving, "seeds": 3} | given
    with pytest.raises((ConfigError, RequestRefused), match=message):
        check_entity(arguments.pop("entity"), arguments.pop("story"), **arguments)


def test_an_error_of_the_story_itself_is_raised_as_it_is() -> None:
    def broken(random: Random) -> Iterable[tuple[type[Entity], str, Event]]:
        raise LookupError("in the story")

    with pytest.raises(LookupError, match="in the story"):
        check_entity(Account, broken)
