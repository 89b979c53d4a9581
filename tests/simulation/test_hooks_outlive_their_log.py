"""The oracle identifies a hook by its package, also if an older copy of the log has another one at its offset."""

from dataclasses import replace

import pytest

from callboard.actors.core.hooks import HookSettings
from callboard.actors.subscriber import SubscriberSettings
from callboard.messages import codec
from callboard.messages.distribution.ledger import HookDue, Ledger
from callboard.messages.distribution.topic_messages import Kind, PackageStatusMessage, Status
from callboard.testing.simulation.distribution.oracles.subscriber_oracle import SubscriberOracle
from callboard.testing.simulation.distribution.oracles.tenants import Tenants
from callboard.testing.simulation.distribution.scene import TOPICS, History, Scene

START = Ledger(instance="i", subscriber="edge", log_id="log", positioned=True, next_sequence=1)
DUE = HookDue(offset=1, publisher="site", package_id="former", kind=Kind.ADD)


class Repository:
    """A repository whose ledger has a due hook, with the oracle that follows it."""

    def __init__(self, max_retries: int) -> None:
        self.scene = Scene(lambda: 0, Tenants(lambda: 0), histories=[History("log", {}, 0)])
        hooks = HookSettings(after_import="shop:purge", max_retries=max_retries)
        settings = SubscriberSettings(name="edge", topics=TOPICS, hooks=hooks)
        self.oracle = SubscriberOracle(self.scene, "edge", lambda: settings)
        self.store(replace(START, offset=3, hooks=(DUE,)))

    def store(self, ledger: Ledger) -> None:
        self.oracle.wrote({}, codec.encode(ledger), durable=True, effect=None)

    def call(self) -> None:
        """Count one more call of the first hook."""
        ledger = self.oracle.ledger
        first, *others = ledger.hooks
        self.store(replace(ledger, hooks=(replace(first, attempts=first.attempts + 1), *others)))

    def begin_again(self) -> None:
        """An older copy of the log is in place, and the position goes back."""
        self.scene.histories.append(History("log", {}, 0))
        self.store(replace(self.oracle.ledger, offset=0))

    def end(self, status: Status) -> str:
        """Remove the hook with this status; returns the violation, if any."""
        ledger = self.oracle.ledger
        line = PackageStatusMessage(
            subscriber_instance="i", subscriber="edge", publisher="site", package_id="former", offset=1, status=status,
            sequence=ledger.next_sequence,
        )  # fmt: skip
        self.store(replace(ledger, hooks=(), outbox=(*ledger.outbox, line), next_sequence=ledger.next_sequence + 1))
        return self.scene.violation.story if self.scene.violation else ""


@pytest.mark.parametrize("called_before", [0, 1, 2])
def test_the_calls_of_a_hook_count_before_and_after_the_log_was_set_back(called_before: int) -> None:
    it = Repository(max_retries=1)
    for _ in range(called_before):
        it.call()
    it.begin_again()
    for _ in range(2 - called_before):
        it.call()
    assert not it.end(Status.HOOK_FAILED)


def test_a_hook_that_was_not_called_often_enough_must_not_be_given_up() -> None:
    it = Repository(max_retries=1)
    it.call()
    it.begin_again()
    assert "its hook was called 1 times" in it.end(Status.HOOK_FAILED)


def test_a_hook_that_never_failed_must_not_be_reported_as_settled() -> None:
    it = Repository(max_retries=1)
    it.call()
    assert "its hook had not failed" in it.end(Status.HOOK_SETTLED)


def test_a_hook_dropped_for_another_package_at_its_offset_is_a_violation() -> None:
    it = Repository(max_retries=1)
    it.begin_again()
    it.store(replace(it.oracle.ledger, hooks=(replace(DUE, package_id="latter"),)))
    assert it.scene.violation is not None
    assert it.scene.violation.rule == "a hook is due until it was called"
