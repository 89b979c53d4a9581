"""A service can simulate its own entities and agents, and finds their faults."""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from callboard.actors import (
    ActorSpec,
    AgentSpec,
    Answered,
    Append,
    Ask,
    Delivered,
    Done,
    Effect,
    EnsureTopic,
    Entity,
    Event,
    Facts,
    Failed,
    Follower,
    Input,
    Moment,
    Origin,
    Process,
    Replaced,
    Started,
    Stopped,
    Stopping,
    Task,
    Tick,
    event,
    event_of,
    from_first,
    record_of,
)
from callboard.actors.core.decision import After
from callboard.errors import CommandRefused, ConfigError
from callboard.testing.actors import View, simulate
from callboard.testing.actors.story import Command
from tests.unit.actors.entities.bank import Account, Close, Move, Moved

TOPIC, LAST = "simulated.numbers", 5


def story(random: Random) -> Iterator[Command]:
    for _ in range(20):
        yield Account, random.choice("ab"), Move(cents=random.randint(-5, 5))


def never_overdrawn(view: View) -> None:
    assert all(account.cents >= 0 for account in view.states(Account).values()), "overdrawn"


def found(**wrong: Any) -> str:
    with pytest.raises(AssertionError) as raised:
        simulate(**wrong)
    return str(raised.value)


def overdraws(monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(Account, "decide", lambda self, command, facts: (Moved(cents=command.cents),))
    return "overdrawn"


def counts_its_calls(monkeypatch: pytest.MonkeyPatch) -> str:
    calls: list[None] = []

    def decide(self: Account, command: Event, facts: Facts) -> Sequence[Event]:
        calls.append(None)
        return (Moved(cents=len(calls)),)

    monkeypatch.setattr(Account, "decide", decide)
    return "but"


def forgets_an_event(monkeypatch: pytest.MonkeyPatch) -> str:
    left = iter(range(10**6))
    evolve = Account.evolve
    monkeypatch.setattr(Account, "evolve", lambda self, event: self if next(left) % 7 == 3 else evolve(self, event))
    return "the log as Account"


def crashes(monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(Account, "decide", lambda self, command, facts: 1 / (3 - self.cents))
    return "failed"


@pytest.mark.proves("A30")
@pytest.mark.parametrize("bug", [overdraws, counts_its_calls, forgets_an_event, crashes])
def test_a_fault_of_an_entity_is_found(
    bug: Callable[[pytest.MonkeyPatch], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = bug(monkeypatch)
    said = found(entities=[Account], story=story, invariant=never_overdrawn)
    assert expected in said
    assert "led to it by:" in said


def test_one_seed_is_run_in_the_same_way_again() -> None:
    runs = [simulate(entities=[Account], story=story, invariant=never_overdrawn, seed=3) for _ in range(2)]
    assert runs[0] == runs[1]
    assert runs[0]["commands"] == 20


class Numbers:
    """Appends the numbers up to ``LAST``, each after the one before it. With ``hasty`` settings it takes an append
    that failed for one that succeeded.
    """

    def __init__(self, settings: bool, rng: Random) -> None:
        self._hasty, self._rng = settings, rng
        self._begin()

    def _begin(self) -> None:
        self._follower, self._last, self._appending = Follower(TOPIC, from_first(), self._rng), 0, 0

    def receive(self, message: Input, origin: Origin, now: Moment) -> Iterable[Effect]:
        match message:
            case Started() | Tick("ensure"):
                yield EnsureTopic(TOPIC)
            case Done(EnsureTopic()):
                yield from self._follower.start()
            case Failed(EnsureTopic()):
                yield After("ensure", 1.0)
            case Failed(Append()) if self._hasty:
                self._last = max(self._last, self._appending)
                yield After("next", 0.1)
            case Failed(Append()):
                self._appending = 0
                yield After("next", 1.0)
            case Stopping():
                yield Stopped()
                return
            case _:
                news, effects = self._follower.handle(message)
                if isinstance(news, Delivered):
                    self._last = max([self._last, *(number(event_of(each)) for each in news.records)])
                if isinstance(news, Replaced):
                    self._begin()
                    effects = self._follower.start()
                yield from effects
        if self._follower.caught_up and self._appending <= self._last < LAST:
            self._appending = self._last + 1
            unique = f"{self._rng.getrandbits(64):x}"
            yield Append(TOPIC, (record_of(
                Number(value=self._appending), record_id=unique, time_ns=now.wall_ns, producer="numbers", key=unique
            ),))  # fmt: skip


@event("test_simulate.number", version=1)
class Number(Event):
    value: int


def number(found: Event) -> int:
    assert isinstance(found, Number)
    return found.value


def agent(*, hasty: bool) -> AgentSpec:
    return AgentSpec("numbers", (ActorSpec("numbers", Numbers, hasty),), topics=(TOPIC,))


def no_gap(view: View) -> None:
    values = [number(event_of(each)) for each in view.records(TOPIC)]
    assert all(value == 1 or value - 1 in values[:place] for place, value in enumerate(values)), "a gap"
    assert not view.ended or LAST in values, "not all numbers"


def test_agents_are_simulated_beside_each_other() -> None:
    count = simulate(agents=[agent(hasty=False)] * 2, invariant=no_gap, seeds=25)
    assert count["lost"] > 0


def test_a_fault_of_an_agent_is_found() -> None:
    assert "a gap" in found(agents=[agent(hasty=True)], invariant=no_gap)


class Idle:
    def __init__(self, settings: None, rng: Random) -> None:
        """Has nothing to do."""

    def receive(self, message: Input, origin: Origin, now: Moment) -> Iterable[Effect]:
        return (Stopped(),) if isinstance(message, Stopping) else ()


def test_an_agent_writes_only_its_own_topics_as_on_a_board() -> None:
    stranger = replace(agent(hasty=False), topics=("simulated.other",))
    owner = AgentSpec("owner", (ActorSpec("owner", Idle, None),), topics=(TOPIC,))
    assert "not all numbers" in found(agents=[stranger, owner], invariant=no_gap, seeds=1)


@event("test_simulate.other", version=1)
class Other(Entity):
    def decide(self, command: Event, facts: Facts) -> Sequence[Event]:
        return ()

    def evolve(self, event: Event) -> "Other":
        return self


def other(view: View) -> None:
    view.states(Other)


def elsewhere(view: View) -> None:
    view.records("elsewhere")


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({}, "nothing to simulate"),
        ({"entities": Account, "story": story}, "entities"),
        ({"entities": [int], "story": story}, "int"),
        ({"entities": [Account]}, "no command"),
        ({"entities": [Account], "story": 3}, "story"),
        ({"entities": [Account], "story": story, "seeds": 0}, "seeds"),
        ({"entities": [Account], "story": story, "invariant": "x"}, "invariant"),
        ({"entities": [Other], "story": story}, "Account is not among the entities"),
        ({"entities": [Account], "story": lambda _: [(Account, "a")]}, "command 1"),
        ({"entities": [Account], "story": story, "invariant": other}, "Other"),
        ({"entities": [Account], "story": story, "invariant": elsewhere}, "'elsewhere'"),
        ({"agents": [Numbers]}, "AgentSpec"),
    ],
)
def test_wrong_arguments_are_refused(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        simulate(**wrong)


def test_it_is_not_called_from_a_coroutine() -> None:
    async def within() -> None:
        with pytest.raises(ConfigError, match="event loop of its own"):
            simulate(entities=[Account], story=lambda _: [(Account, "a", Close())])

    asyncio.run(within())


@event("simulated.run", version=1)
class Run(Event):
    """Begin."""


@event("simulated.errand", version=1)
class Errand(Process):
    """Asks an account, and does not want to know the answer."""

    runs: bool = False

    def decide(self, command: Event, facts: Facts) -> Sequence[Event]:
        """See ``Entity``."""
        if isinstance(command, Answered):
            raise CommandRefused("an errand knows no answers", code="unknown")
        return [Run()]

    def evolve(self, event: Event) -> "Errand":
        """See ``Entity``."""
        return Errand(runs=True)

    def todo(self, key: str) -> Sequence[Task]:
        """See ``Process``."""
        return [Ask("move", Account, "a", Move(cents=1))]


def run_errands(_: Random) -> Iterator[Command]:
    yield Errand, "errand", Run()


def test_whom_processes_ask_has_to_be_simulated_too() -> None:
    with pytest.raises(ConfigError, match=r"Account is asked, and is not among .*; add it to entities"):
        simulate(entities=[Errand], story=run_errands, seeds=20)


def test_tasks_that_do_not_end_are_told_with_their_reason() -> None:
    said = found(entities=[Errand, Account], story=run_errands, seeds=20)
    assert said.startswith("these tasks do not end: ['errand: move']\nan errand knows no answers\n")


def test_what_cannot_be_done_is_told_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Errand, "todo", lambda self, key: (each for each in ()))
    said = found(entities=[Errand, Account], story=run_errands, seeds=20)
    assert said.startswith("'errand': Errand.todo failed: TypeError: it returned <generator")
