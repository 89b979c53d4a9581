"""A hook after the import has its own outcome: it neither undoes the import nor delays the queue."""

from dataclasses import replace
from typing import Any

import pytest

from callboard.actors.core.backoff import Backoff
from callboard.actors.core.decision import Failed, Stopping
from callboard.actors.core.hooks import HookSettings
from callboard.actors.subscriber.effects import ImportPackages, RunHook, SaveLedger
from callboard.actors.subscriber.hooks.hooks_due import DUE_MAX
from callboard.errors import HookFailed, LogUnavailable
from callboard.messages.distribution.ledger import HookDue, Ledger
from callboard.messages.distribution.mailbox import StatusesPending, StatusesSent
from callboard.messages.distribution.topic_messages import Kind, LogMessage, RetryCommand, SkipCommand, State, Status
from callboard.testing.drivers.subscriber_example import LEDGER, ImporterDriver, command, package

BOOM = HookFailed("after_import hook shop:purge: OSError: the cache is away")
STEADY = Backoff(first_s=1.0, max_s=1.0)


def due(offset: int, attempts: int = 0, error: str = "") -> HookDue:
    return HookDue(
        offset=offset, publisher="site", package_id=f"p{offset}", kind=Kind.ADD, attempts=attempts, last_error=error
    )


class HookDriver(ImporterDriver):
    """An importer with a hook after imports, which imports one package at a time."""

    def __init__(self, **others: Any) -> None:
        hooks = HookSettings(after_import="shop:purge", max_retries=others.pop("hook_max_retries", 2))
        super().__init__(hooks=hooks, retry=STEADY, batch_packages=1, **others)

    def import_next(self) -> Ledger:
        """Carry out the requested import."""
        return self.done(ImportPackages).ledger

    def begin_hook(self) -> RunHook:
        """Store the count of the next call, and begin it."""
        while not self.asks(RunHook):
            self.done(SaveLedger)
        return self.asked(RunHook)

    def statuses(self) -> list[tuple[int, Status]]:
        """The statuses sent to the publisher, in the order of their sequence numbers."""
        lines = {line.sequence: line for pending in self.sent(StatusesPending) for line in pending.statuses}
        return [(lines[number].offset, lines[number].status) for number in sorted(lines)]


def given_up(offset: int) -> HookDriver:
    """A subscriber that has imported a package, and whose hook failed as often as it may."""
    it = HookDriver(editable=True, hook_max_retries=0).arrive()
    it.read(package(offset))
    it.import_next()
    it.begin_hook()
    it.fail(RunHook, BOOM)
    it.save_all()
    return it


@pytest.mark.proves("F88", "W6")
def test_a_hook_becomes_due_in_the_transaction_that_imports_its_package() -> None:
    it = HookDriver().arrive()
    it.read(package(10))
    ledger = it.import_next()
    assert (ledger.offset, [hook.offset for hook in ledger.hooks]) == (10, [10])


@pytest.mark.proves("W6")
def test_a_failed_hook_leaves_the_package_imported_and_the_queue_moves_on() -> None:
    it = HookDriver(editable=True).arrive()
    it.read(package(10), package(11))
    it.import_next()
    it.begin_hook()
    it.fail(RunHook, BOOM)
    it.save_all()
    assert it.import_next().offset == 11
    report = it.report()
    assert (report.offset, report.attempts, report.hooks) == (11, 0, 2)
    assert (report.hook_offset, report.hook_attempts, report.left) == (10, 1, (10, 11))
    assert report.hook_error.startswith("after_import hook shop:purge")
    assert it.statuses()[0] == (10, Status.IMPORTED)


@pytest.mark.proves("W6")
def test_a_hook_is_retried_and_given_up_with_its_own_status() -> None:
    it = HookDriver(editable=True).arrive()
    it.read(package(10))
    it.import_next()
    for attempt in (1, 2, 3):
        assert it.begin_hook().due.attempts == attempt
        it.fail(RunHook, BOOM)
        it.save_all()
        it.feed(StatusesSent(sequence=1))
        if attempt < 3:
            it.tick("hook")
    it.save_all()
    assert it.statuses() == [(10, Status.IMPORTED), (10, Status.HOOK_FAILED)]
    assert it.report().hooks == 0
    assert it.report().imported == 1
    lines = {line.sequence: line for pending in it.sent(StatusesPending) for line in pending.statuses}
    assert lines[2].reason == str(BOOM)


@pytest.mark.proves("W6", "W18")
def test_a_command_calls_a_hook_that_was_given_up_again_without_importing_its_package_twice() -> None:
    it = given_up(10)
    it.order(command(5, retry=RetryCommand(offset=10)), end=100)
    assert it.begin_hook().due.attempts == 1
    it.done(RunHook)
    it.save_all()
    it.sends_all()
    assert it.results()["c5"].accepted
    assert it.statuses() == [(10, Status.IMPORTED), (10, Status.HOOK_FAILED), (10, Status.HOOK_SETTLED)]
    assert it.report().imported == 1
    assert not it.asks(RunHook)


@pytest.mark.proves("W6", "W18")
def test_a_skip_dismisses_a_hook_that_was_given_up_and_the_content_stays() -> None:
    it = given_up(10)
    for number in (5, 6):
        it.order(command(number, skip=SkipCommand(offset=10)), end=100)
        it.save_all()
    it.sends_all()
    assert [it.results()[name].accepted for name in ("c5", "c6")] == [True, False]
    assert it.statuses()[-1] == (10, Status.HOOK_SETTLED)
    assert it.report().skipped == 0
    assert not it.asks(RunHook)


def test_a_hook_that_succeeded_is_no_longer_due() -> None:
    it = HookDriver().arrive()
    it.read(package(10))
    it.import_next()
    it.begin_hook()
    it.done(RunHook)
    assert it.report().hooks == 0
    assert it.statuses() == []


def test_imports_continue_while_a_hook_runs() -> None:
    it = HookDriver().arrive()
    it.read(package(10), package(11))
    it.import_next()
    it.begin_hook()
    assert it.import_next().offset == 11
    assert it.asks(RunHook)


def test_a_failed_hook_does_not_delay_the_hooks_behind_it() -> None:
    it = HookDriver().arrive()
    it.read(package(10), package(11))
    it.import_next()
    it.begin_hook()
    it.import_next()
    it.fail(RunHook, BOOM)
    assert it.begin_hook().due.offset == 11


@pytest.mark.proves("W5")
def test_the_call_is_counted_before_it_begins() -> None:
    it = HookDriver().arrive()
    it.read(package(10))
    it.import_next()
    assert not it.asks(RunHook)
    (counted,) = it.asked(SaveLedger).ledger.hooks
    assert counted.attempts == 1
    it.done(SaveLedger)
    assert it.asks(RunHook)


@pytest.mark.proves("W6")
def test_a_hook_that_was_due_when_the_importer_died_is_called_by_the_next_one() -> None:
    it = HookDriver().arrive(replace(LEDGER, hooks=(due(9),)))
    assert it.begin_hook().due == due(9, attempts=1)


def test_a_hook_that_kills_its_process_is_retried_with_backoff_up_to_its_bound() -> None:
    it = HookDriver().arrive(replace(LEDGER, hooks=(due(9, attempts=2),)))
    assert not it.asks(SaveLedger)
    it.tick("hook")
    assert it.begin_hook().due.attempts == 3
    successor = HookDriver().arrive(replace(LEDGER, hooks=(due(9, attempts=3),)))
    successor.tick("hook")
    successor.save_all()
    (line,) = successor.sent(StatusesPending)[-1].statuses
    assert (line.status, line.attempts) == (Status.HOOK_FAILED, 3)
    assert line.reason == "the process died in call 3 of the post-import hook"


def test_imports_wait_while_too_many_hooks_are_due_and_the_state_says_so() -> None:
    many = tuple(due(offset, attempts=1, error="the cache is away") for offset in range(DUE_MAX))
    it = HookDriver(hook_max_retries=-1).arrive(replace(LEDGER, offset=DUE_MAX, hooks=many), end=1000)
    it.read(package(DUE_MAX + 1))
    assert not it.asks(ImportPackages)
    state, reason = it.state()
    assert state is State.WAITING
    assert reason.startswith(f"{DUE_MAX} post-import hooks are due")
    assert it.report().hook_error == "the cache is away"
    it.tick("hook")
    it.begin_hook()
    it.done(RunHook)
    it.save_all()
    assert it.import_next().offset == DUE_MAX + 1


def test_after_the_log_was_set_back_an_import_waits_for_the_hook_of_the_former_package_at_its_offset() -> None:
    former = replace(due(10, attempts=1, error="the cache is away"), package_id="former")
    it = HookDriver().arrive(replace(LEDGER, hooks=(former,)))
    it.read(package(10))
    assert not it.asks(ImportPackages)
    assert it.state() == (
        State.WAITING, "the post-import hook of another package once at offset 10 is due"
    )  # fmt: skip
    it.tick("hook")
    assert it.begin_hook().due.package_id == "former"
    it.done(RunHook)
    it.save_all()
    assert [hook.package_id for hook in it.import_next().hooks] == ["p10"]


def test_a_package_that_is_imported_again_does_not_wait_for_its_own_hook() -> None:
    it = HookDriver().arrive(replace(LEDGER, hooks=(due(10, attempts=2, error="the cache is away"),)))
    it.read(package(10))
    assert [(hook.package_id, hook.attempts) for hook in it.import_next().hooks] == [("p10", 0)]


def test_without_a_hook_and_for_an_invalidation_nothing_is_due() -> None:
    it = ImporterDriver().arrive()
    it.read(package(10))
    assert it.done(ImportPackages).ledger.hooks == ()
    other = HookDriver().arrive()
    other.read(package(10, kind=Kind.INVALIDATE))
    ledger = other.import_next()
    assert (ledger.offset, ledger.imported, ledger.hooks) == (10, 1, ())


def test_a_stop_waits_for_a_running_hook() -> None:
    it = HookDriver().arrive()
    it.read(package(10))
    it.import_next()
    it.begin_hook()
    it.feed(Stopping())
    it.save_all()
    assert not it.stopped
    it.done(RunHook)
    it.save_all()
    assert it.stopped


@pytest.mark.proves("F91", "W36")
def test_an_error_is_logged_with_its_trace_when_it_is_new_not_at_each_attempt() -> None:
    it = HookDriver().arrive()
    it.read(package(10))
    for error in (LogUnavailable("down"), LogUnavailable("down"), HookFailed("before_import hook: no")):
        effect = it.asked(ImportPackages)
        it.open.remove(effect)
        it.feed(Failed(effect, error, f"Traceback of {error}"))
        it.tick("retry")
        it.save_all()
    lines = it.sent(LogMessage)
    assert [(line.stacktrace, line.publisher) for line in lines] == [
        ("Traceback of down", "site"),
        ("Traceback of before_import hook: no", "site"),
    ]
    assert lines[0].message == "import of the package at offset 10 failed: down"


def test_a_command_calls_a_waiting_hook_at_once() -> None:
    it = HookDriver().arrive(replace(LEDGER, hooks=(due(9, attempts=2, error="no cache"),)))
    assert not it.asks(SaveLedger)
    it.order(command(1, retry=RetryCommand(offset=9)))
    assert it.begin_hook().due == due(9, attempts=1, error="no cache")
