from dataclasses import dataclass, field

import pytest

from callboard.actors.core.decision import Moment
from callboard.actors.subscriber.effects import ImportPackages
from callboard.actors.subscriber.gates.gate import Gate, Leave, Wait
from callboard.actors.subscriber.importing import next_package
from callboard.errors import BlobMissing
from callboard.messages.distribution.ledger import Ledger
from callboard.messages.distribution.mailbox import StatusesSent
from callboard.messages.distribution.topic_messages import PackageMessage, State, Status
from callboard.testing.drivers.subscriber_example import ImporterDriver, clear, package


@dataclass
class Barrier:
    """A gate with the given answers."""

    answer: Wait | Leave | None = None
    asked: list[int] = field(default_factory=list)

    def judge(self, offset: int, message: PackageMessage, ledger: Ledger, now: Moment) -> Wait | Leave | None:
        self.asked.append(offset)
        return self.answer


def guarded(monkeypatch: pytest.MonkeyPatch, *barriers: Gate, **settings: object) -> ImporterDriver:
    monkeypatch.setattr(next_package, "gates", lambda _: barriers)
    it = ImporterDriver(**settings).arrive()
    it.read(package(10))
    return it


@pytest.mark.proves("F86")
def test_a_package_waits_at_a_closed_gate_and_the_state_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    barrier = Barrier(Wait(State.PAUSED, "ann paused it", again_s=5.0))
    it = guarded(monkeypatch, barrier)
    assert not it.asks(ImportPackages)
    assert it.state() == (State.PAUSED, "ann paused it")
    assert it.timers["gate"] - it.now.mono_s == 5.0
    barrier.answer = None
    it.tick("gate")
    assert it.asked(ImportPackages).offset == 10
    assert it.state()[0] is State.IMPORTING


def test_any_input_rechecks_a_gate_that_waits_for_an_event(monkeypatch: pytest.MonkeyPatch) -> None:
    barrier = Barrier(Wait(State.PAUSED, "ann paused it"))
    it = guarded(monkeypatch, barrier)
    assert "gate" not in it.timers
    barrier.answer = None
    it.feed(StatusesSent(sequence=0))
    assert it.asked(ImportPackages).offset == 10


@pytest.mark.proves("F86")
def test_a_gate_can_leave_out_a_package_with_a_status_that_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    it = guarded(monkeypatch, Barrier(Leave(Status.SKIPPED, "the golden one gave it up")))
    (saved,) = it.save_all()
    (status,) = saved.ledger.outbox
    assert (status.offset, status.status, status.reason) == (10, Status.SKIPPED, "the golden one gave it up")
    assert (saved.ledger.offset, saved.ledger.record_id, saved.ledger.skipped) == (10, "10 0", 1)
    assert not it.asks(ImportPackages)


def test_the_first_gate_that_answers_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    open_gate, closed, behind = Barrier(), Barrier(Wait(State.THROTTLED, "slowly")), Barrier()
    it = guarded(monkeypatch, open_gate, closed, behind)
    assert it.state() == (State.THROTTLED, "slowly")
    assert open_gate.asked
    assert not behind.asked


@pytest.mark.proves("F85")
def test_a_cleared_package_does_not_wait_at_a_gate(monkeypatch: pytest.MonkeyPatch) -> None:
    barrier = Barrier(Wait(State.PAUSED, "ann paused it"))
    it = guarded(monkeypatch, barrier, editable=True)
    it.order(clear(10, at=5))
    saved = it.save_all()
    assert saved[-1].ledger.outbox[0].status is Status.REMOVED
    assert it.state()[0] is State.IDLE


def test_a_gate_that_closes_during_a_backoff_is_shown_and_does_not_end_the_backoff(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    barrier = Barrier()
    it = guarded(monkeypatch, barrier)
    it.fail(ImportPackages, BlobMissing("gone"))
    barrier.answer = Wait(State.PAUSED, "ann paused it")
    it.feed(StatusesSent(sequence=0))
    assert it.state() == (State.PAUSED, "ann paused it")
    barrier.answer = None
    it.feed(StatusesSent(sequence=0))
    assert it.state()[0] is State.RETRYING
    assert not it.asks(ImportPackages)
    it.tick("retry")
    assert it.asks(ImportPackages)
