"""A wait until all is settled reports what is not, and does not wait for what cannot happen."""

from dataclasses import replace

import pytest

from callboard.actors.core.decision import Origin
from callboard.actors.core.hooks import HookSettings
from callboard.actors.subscriber.effects import ImportPackages, RunHook, SaveLedger
from callboard.actors.subscriber.hooks.hooks_due import HOPE_CALLS
from callboard.cli.run.until_caught_up import STILL_S, hopeless
from callboard.errors import CallboardError, HookFailed, PackageCorrupt
from callboard.messages.distribution.ledger import GivenUp, HeldPackage, HookDue, Ledger
from callboard.messages.distribution.mailbox import CaughtUpQuery, Settled
from callboard.messages.distribution.topic_messages import DiscoveryMessage, Kind, State, SubscriberConfiguration
from callboard.testing.drivers.subscriber_example import LEDGER, ImporterDriver, package

ASKER = Origin("gateway", 1)
BOOM = HookFailed("after_import hook shop:purge: OSError: the cache is away")


def asked(it: ImporterDriver, end: int) -> ImporterDriver:
    it.feed(CaughtUpQuery(), ASKER)
    it.find_bounds(end=end)
    return it


def answers(it: ImporterDriver) -> list[Settled]:
    return [answer for _, answer in it.replies() if isinstance(answer, Settled)]


def test_packages_given_up_held_or_without_their_hook_are_in_the_answer() -> None:
    hook = HookDue(offset=5, publisher="site", package_id="p5", kind=Kind.ADD, attempts=HOPE_CALLS, last_error="away")
    ledger = replace(
        LEDGER,
        given_up=(GivenUp(offset=3, publisher="site", package_id="p3"),),
        held=(HeldPackage(offset=4, publisher="site", package_id="p4", kind=Kind.ADD, attempts=2, reason="full"),),
        hooks=(hook,),
        failed_hooks=(replace(hook, offset=6),),
    )
    it = ImporterDriver(hooks=HookSettings(after_import="shop:purge", max_retries=-1)).arrive(ledger)
    asked(it, LEDGER.offset + 1)
    it.pass_time(600)
    it.tick("hook")
    while not it.asks(RunHook):
        it.done(SaveLedger)
    assert answers(it) == [], "it is called once after each start"
    it.fail(RunHook, BOOM)
    it.save_all()
    (answer,) = answers(it)
    assert answer.reached
    assert [(each.what, each.offset, each.attempts, each.reason) for each in answer.unfinished] == [
        ("given_up", 3, 0, ""), ("held", 4, 2, "full"),
        ("hook_due", 5, HOPE_CALLS + 1, str(BOOM)), ("hook_failed", 6, HOPE_CALLS, "away"),
    ]  # fmt: skip
    assert it.report().left == (3, 4, 5, 6)


def test_a_blocking_package_is_reported_at_once() -> None:
    it = asked(ImporterDriver().arrive(), end=11)
    it.read(package(10))
    assert answers(it) == []
    it.fail(ImportPackages, PackageCorrupt("its digest differs"))
    (answer,) = answers(it)
    assert (answer.reached, answer.announcement.state) == (False, State.BLOCKED)
    assert "its digest differs" in answer.announcement.reason


def test_a_package_that_is_retried_is_waited_for() -> None:
    it = asked(ImporterDriver().arrive(), end=11)
    it.read(package(10))
    it.fail(ImportPackages, CallboardError("no space"))
    assert answers(it) == []


def test_a_pause_is_reported_only_if_something_is_left_to_import() -> None:
    it = ImporterDriver().arrive(replace(LEDGER, paused_by="ann"))
    (answer,) = answers(asked(it, LEDGER.offset + 1))
    assert answer.reached
    asked(it, end=LEDGER.offset + 5)
    assert [answer.reached for answer in answers(it)] == [True, False]
    assert answers(it)[-1].announcement.state is State.PAUSED


@pytest.mark.parametrize("calls", range(1, HOPE_CALLS + 1))
def test_a_hook_is_waited_for_until_its_third_call_has_failed(calls: int) -> None:
    it = ImporterDriver(hooks=HookSettings(after_import="shop:purge", max_retries=-1), batch_packages=1).arrive()
    it.read(package(10))
    it.done(ImportPackages)
    asked(it, end=11)
    for call in range(1, calls + 1):
        while not it.asks(RunHook):
            it.done(SaveLedger)
        assert answers(it) == [], "a call is under way"
        if call == calls:
            break
        it.fail(RunHook, BOOM)
        it.save_all()
        it.pass_time(600)
        it.tick("hook")
    it.done(RunHook)
    it.save_all()
    (answer,) = answers(it)
    assert (answer.reached, answer.unfinished) == (True, ())


def said(state: State, attempts: int = 0) -> DiscoveryMessage:
    configuration = SubscriberConfiguration(editable=False, max_retries=-1)
    return DiscoveryMessage(
        subscriber_instance="i", subscriber="edge-1", configuration=configuration, state=state, attempts=attempts
    )


def test_the_command_line_waits_only_for_what_can_still_happen() -> None:
    assert not hopeless(said(State.RETRYING, 2), 100.0, -1)
    assert hopeless(said(State.RETRYING, 3), 0.0, -1)
    assert not hopeless(said(State.RETRYING, 3), 100.0, 5), "it is given up by itself"
    assert not hopeless(said(State.WAITING), STILL_S - 1, -1)
    assert hopeless(said(State.WAITING), STILL_S, -1)
    assert not hopeless(said(State.IMPORTING), 1000.0, -1)
    assert not hopeless(said(State.THROTTLED), 1000.0, -1), "it moves"


def test_a_ledger_without_failures_reports_nothing() -> None:
    it = ImporterDriver().arrive(Ledger(instance="me", subscriber="edge-1"))
    assert it.report().left == ()
