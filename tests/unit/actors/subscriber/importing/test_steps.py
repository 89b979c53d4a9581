"""The order of an importer's steps: what uses its repository next, and which other steps are due."""

from collections.abc import Callable
from dataclasses import replace
from itertools import combinations
from random import Random

import pytest

from callboard.actors.core.effects import ReadLog
from callboard.actors.core.hooks import HookSettings
from callboard.actors.subscriber.effects import ImportPackages, OpenRepository, RunHook, SaveLedger
from callboard.actors.subscriber.gates.gate import Wait
from callboard.actors.subscriber.importing.parts import Parts
from callboard.actors.subscriber.importing.steps import STEPS, USES, first
from callboard.actors.subscriber.ledger.ledger_state import Write
from callboard.actors.subscriber.reporting.condition import Failure
from callboard.messages.distribution.ledger import HeldPackage, HookDue
from callboard.messages.distribution.mailbox import CommandsRead, PackagesRead
from callboard.messages.distribution.topic_messages import Kind, PauseCommand, State
from callboard.testing.drivers.subscriber_example import LEDGER, ImporterDriver, command, package, settings

Fact = Callable[[Parts], None]

STOP, STORE, READ, LISTEN, WORK_ON = (use.name for use in USES)


def is_open(it: Parts) -> None:
    it.startup.known = it.startup.open = True
    it.state.adopt(LEDGER, LEDGER)


def is_admitted(it: Parts) -> None:
    it.startup.admit(0)


def is_placed(it: Parts) -> None:
    it.startup.placed = True


def is_lost(it: Parts) -> None:
    it.startup.gap = "trimmed"


def is_urgent(it: Parts) -> None:
    assert not list(it.state.follow([Write(it.state.ledger, urgent=True)]))


def moves(it: Parts) -> None:
    assert not list(it.state.follow([Write(replace(it.state.ledger, offset=12))]))


def reads(it: Parts) -> None:
    it.backlog.begin(LEDGER.log_id, 10)


def listens(it: Parts) -> None:
    assert len(list(it.inbox.listen(LEDGER))) == 1


def has_heard_all(it: Parts) -> None:
    assert not list(it.inbox.hear(CommandsRead()))


def has_a_command(it: Parts) -> None:
    assert not list(it.inbox.hear(command(5, pause=PauseCommand())))


def stops(it: Parts) -> None:
    it.stopping = True


def is_busy(it: Parts) -> None:
    assert len(list(it.state.follow([OpenRepository()]))) == 1


def is_introduced(it: Parts) -> None:
    it.introduced = True


READY = (is_open, is_admitted, is_placed, reads, listens, has_heard_all)


def parts(*facts: Fact) -> Parts:
    it = Parts(settings(), Random(1))
    for fact in facts:
        fact(it)
    return it


@pytest.mark.parametrize(
    ("facts", "use"),
    [
        ((), None),
        ((is_open,), None),
        ((is_open, is_urgent), STORE),
        ((is_urgent, is_admitted), None),
        ((is_open, is_admitted), None),
        ((is_open, is_admitted, is_placed), READ),
        ((is_open, is_admitted, is_placed, is_urgent), STORE),
        ((is_open, is_admitted, is_lost), LISTEN),
        ((is_open, is_admitted, is_lost, is_urgent), STORE),
        ((is_open, is_admitted, is_lost, listens), None),
        ((is_open, is_lost), None),
        ((is_open, is_admitted, is_placed, reads, listens), None),
        (READY, WORK_ON),
        ((*READY, has_a_command), None),
        ((*READY, is_urgent), STORE),
        ((*READY, has_a_command, is_urgent), STORE),
        ((*READY, is_urgent, has_a_command, stops), STOP),
        ((stops,), STOP),
    ],
    ids=lambda each: " ".join(fact.__name__ for fact in each) or "at first" if isinstance(each, tuple) else each,
)
def test_the_repository_is_used_for_the_first_step_that_is_due(facts: tuple[Fact, ...], use: str | None) -> None:
    assert [step.name for step in first(USES, parts(*facts))] == [use][: use is not None]


def test_nothing_is_imported_before_urgent_steps_commands_and_unknown_positions_are_handled() -> None:
    facts = (*READY, is_lost, is_urgent, has_a_command, stops)
    situations = [chosen for size in range(len(facts) + 1) for chosen in combinations(facts, size)]
    working = [chosen for chosen in situations if [use.name for use in first(USES, parts(*chosen))] == [WORK_ON]]
    assert {frozenset(chosen) - {is_lost, listens} for chosen in working} == {frozenset(READY) - {listens}}


ALWAYS = {"read what was given up", "tell statuses"}
BY_READY = ALWAYS | {"call a hook", "look for the bounds", "ask for packages", "answer who waits"}
CHANGES = {"change what has waited", "use the repository"}


@pytest.mark.parametrize(
    ("facts", "names"),
    [
        ((), ALWAYS | {"use the repository", "look for the bounds"}),
        ((is_busy,), ALWAYS | {"look for the bounds"}),
        ((is_open,), ALWAYS | CHANGES | {"look for the bounds", "introduce itself"}),
        (READY, BY_READY | CHANGES | {"carry out commands", "introduce itself"}),
        ((*READY, is_introduced), BY_READY | CHANGES | {"carry out commands", "observe"}),
        ((*READY, is_introduced, is_busy), BY_READY | {"observe"}),
        (
            (*READY, is_introduced, has_a_command),
            (BY_READY | CHANGES | {"carry out commands", "observe"}) - {"answer who waits"},
        ),
        ((*READY, is_introduced, stops), (BY_READY | CHANGES) - {"call a hook"}),
        (
            (*READY, is_introduced, moves),
            BY_READY | CHANGES | {"carry out commands", "observe", "store the rest later"},
        ),
        ((*READY, is_introduced, moves, stops), (BY_READY | CHANGES) - {"call a hook"}),
    ],
)
def test_each_step_is_taken_when_it_is_due(facts: tuple[Fact, ...], names: set[str]) -> None:
    it = parts(*facts)
    assert {step.name for step in STEPS if step.applies(it)} == names


@pytest.mark.parametrize(
    ("earlier", "later", "why"),
    [
        ("call a hook", "carry out commands", "its count is stored, and a command may dismiss it"),
        ("change what has waited", "carry out commands", "commands are judged by what is known by now"),
        ("carry out commands", "use the repository", "a command may be about what is imported next"),
        ("use the repository", "look for the bounds", "what is opened or read may make the bounds needless"),
        ("use the repository", "observe", "the state is reported as it is afterwards"),
        ("observe", "answer who waits", "the answer has the state in it"),
        ("observe", "introduce itself", "so has the introduction"),
    ],
)
def test_a_step_that_another_depends_on_comes_before_it(earlier: str, later: str, why: str) -> None:
    names = [step.name for step in STEPS]
    assert names.index(earlier) < names.index(later), why


def is_unreadable(it: Parts) -> None:
    it.backlog.unreadable = "down"


def is_gated(it: Parts) -> None:
    it.head.gate = Wait(State.STAGED, "waits for staging's verdict")


def is_paused(it: Parts) -> None:
    assert not list(it.state.follow([Write(replace(it.state.ledger, paused_by="ann"))]))


def has_failed(it: Parts) -> None:
    it.head.failure = Failure("no such blob", State.BLOCKED)


def has_a_package(it: Parts) -> None:
    it.backlog.read(PackagesRead(log_id=LEDGER.log_id, start=10, next=11, records=(package(10),)))


@pytest.mark.parametrize(
    ("facts", "state", "reason"),
    [
        ((), State.STARTING, "waits for its name"),
        ((is_admitted,), State.STARTING, "looks for its position in the log"),
        ((is_admitted, reads), State.STARTING, "reads the commands given so far"),
        (READY, State.IDLE, ""),
        ((*READY, has_a_package), State.IMPORTING, ""),
        ((*READY, has_a_package, has_failed), State.BLOCKED, "no such blob"),
        ((*READY, has_failed, is_paused), State.PAUSED, "paused by ann"),
        ((*READY, has_failed, is_paused, is_gated), State.STAGED, "waits for staging's verdict"),
        ((is_admitted, has_failed, is_paused, is_gated), State.STARTING, "looks for its position in the log"),
        ((*READY, is_gated, is_unreadable), State.WAITING, "down"),
        ((is_unreadable,), State.WAITING, "down"),
        ((is_unreadable, is_lost), State.GAP, "trimmed"),
    ],
)
def test_of_several_obstacles_the_first_is_reported(facts: tuple[Fact, ...], state: State, reason: str) -> None:
    it = parts(*facts)
    it.observe()
    assert it.condition.state is state
    assert it.condition.reason.startswith(reason)
    assert bool(it.condition.reason) == bool(reason)


def test_a_hook_is_counted_before_a_held_package_is_retried_and_that_before_the_next_import() -> None:
    hook = HookDue(offset=3, publisher="site", package_id="p3", kind=Kind.ADD)
    held = HeldPackage(offset=4, publisher="site", package_id="p4", kind=Kind.ADD, paths=("/a",), due=True)
    stored = replace(LEDGER, hooks=(hook,), held=(held,))
    it = ImporterDriver(hooks=HookSettings(after_import="a:hook")).arrive(stored)
    it.read(package(10, paths=("/b",)))
    counted = it.done(SaveLedger)
    assert (counted.ledger.hooks[0].attempts, counted.durable) == (1, False)
    assert it.asked(ReadLog).start == 4
    assert it.asked(RunHook).due.offset == 3
    assert it.asked(ImportPackages).offset == 10
