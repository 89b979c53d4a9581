"""Retries held packages that are due: each is read from the log again, and imported out of turn."""

from collections.abc import Callable, Iterator, Sequence
from random import Random

from callboard.actors.core.decision import After, Done, Failed, Moment, note
from callboard.actors.core.effects import LogRead, ReadLog
from callboard.actors.subscriber.effects import ImportPackages
from callboard.actors.subscriber.gates.gate import Gate, Leave, Wait
from callboard.actors.subscriber.hooks import hooks_due
from callboard.actors.subscriber.importing.failure_policy import NextStep, died_too_often, judge
from callboard.actors.subscriber.importing.received import Received, received
from callboard.actors.subscriber.ledger import ledger_changes
from callboard.actors.subscriber.ledger.ledger_state import Change, Decided, LedgerState, Write
from callboard.actors.subscriber.quarantine import quarantine
from callboard.actors.subscriber.settings import SubscriberSettings
from callboard.errors import CallboardError, OffsetOutOfRange
from callboard.messages.distribution.ledger import HeldPackage, Ledger
from callboard.messages.distribution.topic_messages import PackageMessage, Status

TIMER = "retrial"
"""Delay before the next attempt, or the next check of a gate."""


class HeldRetry:
    """Retries one held package at a time, the first of the log first, before the head continues.

    Between two attempts it waits, and the head continues meanwhile. After the last one the package stays held until a
    command retries it, or it is given up for good (REMOVED_FAILED) where nothing may be held. Everything in the
    ledger has happened, so this may be killed at any moment.
    """

    OWNER = "held"

    def __init__(self, settings: SubscriberSettings, rng: Random, state: LedgerState, gates: Sequence[Gate]) -> None:
        self._settings = settings
        self._rng = rng
        self._state = state
        self._gates = gates
        self._parcel: Received | None = None  # the one to retry, as read from the log
        self._reading: ReadLog | None = None
        self._tries = 0
        self._not_before_s = float("-inf")

    def wake(self) -> None:
        """Retry at once."""
        self._not_before_s = float("-inf")

    def work(self, now: Moment) -> Iterator[Decided]:
        """Do the next step, while the state is free."""
        ledger = self._state.ledger
        entry = quarantine.due(ledger)
        if entry is None or len(ledger.outbox) >= self._settings.outbox_max or now.mono_s < self._not_before_s:
            return
        it = self._parcel
        if it is not None and it.offset == entry.offset and it.message is not None:
            yield from self._ask_gates(entry, it, it.message, now)
        elif self._reading is None:
            self._reading = ReadLog(self._settings.topics.package, entry.offset, max_records=1, owner=self.OWNER)
            yield self._reading

    # Outcomes.

    def read(self, outcome: Done | Failed, now: Moment) -> Iterator[Decided]:
        """The log has answered, or failed."""
        assert self._reading is not None
        offset, self._reading, self._parcel = self._reading.start, None, None
        if isinstance(outcome, Failed) and not isinstance(outcome.error, OffsetOutOfRange):
            yield from self._pause(now, offset, outcome.error)
            return
        found = self._found(offset, outcome.result) if isinstance(outcome, Done) else None
        if found is None:
            yield from self._give_up(
                offset, "it is no longer in the log; publish its paths again with --full, then skip it", now
            )
        elif found.problem is not None:
            yield from self._give_up(offset, ledger_changes.text(found.problem), now)
        elif found.message is None:
            yield self._end(offset, Status.SKIPPED, "it is no longer for this subscriber", now)
        else:
            self._parcel = found

    def move_on(self) -> None:
        """The package is imported."""
        self._parcel = None
        self._tries = 0

    def failed(self, tried: ImportPackages, error: CallboardError, now: Moment) -> Iterator[Decided]:
        """The import has failed."""
        offset, reason = tried.offset, ledger_changes.text(error)
        entry = quarantine.find(tried.attempt, offset)
        assert entry is not None
        verdict = judge(error, entry.attempts, self._settings)
        yield Write(tried.attempt)
        if verdict is NextStep.WAIT:
            yield Write(quarantine.not_counted(tried.attempt, offset, reason))
        elif verdict is not NextStep.RETRY:
            yield from self._give_up(offset, reason, now)
            return
        else:
            yield Write(quarantine.failed(tried.attempt, offset, reason, now.wall_ns, is_last=False))
        yield from self._pause(now, offset, error)

    # The steps.

    def _ask_gates(self, entry: HeldPackage, it: Received, message: PackageMessage, now: Moment) -> Iterator[Decided]:
        """Ask the gates that may have closed since the package was at the head."""
        for gate in self._gates:
            match gate.judge(it.offset, message, self._state.ledger, now):
                case Wait(again_s=again_s):
                    yield After(TIMER, again_s)
                    return
                case Leave(status, reason):
                    yield self._end(it.offset, status, reason, now)
                    return
        if died_too_often(entry.attempts, self._settings.max_retries):
            yield from self._give_up(it.offset, f"the importer died in attempt {entry.attempts}", now)
            return
        attempt = quarantine.attempting(self._state.ledger, it.offset)
        after = quarantine.ended(attempt, it.offset, Status.IMPORTED, "", now.wall_ns)
        after = hooks_due.owe(after, it.offset, message, self._settings)
        trial = ImportPackages(
            (message,), (it.offset,), (it.traceparent,), attempt, after, self._settings.parallel, owner=self.OWNER
        )
        yield self._state.permitted(trial)

    def _found(self, offset: int, read: LogRead) -> Received | None:
        same = read.log_id == self._state.ledger.log_id
        record = read.records[0] if same and read.records else None
        return received(record, self._settings) if record is not None and record.offset == offset else None

    def _give_up(self, offset: int, reason: str, now: Moment) -> Iterator[Decided]:
        if self._settings.on_give_up == "skip":
            yield self._end(offset, Status.REMOVED_FAILED, reason, now)
        else:
            yield self._change(lambda ledger: quarantine.failed(ledger, offset, reason, now.wall_ns, is_last=True))
        yield note("retrial.given_up", "error", offset=offset, reason=reason)

    def _end(self, offset: int, status: Status, reason: str, now: Moment) -> Change:
        return self._change(lambda ledger: quarantine.ended(ledger, offset, status, reason, now.wall_ns))

    def _change(self, change: Callable[[Ledger], Ledger]) -> Change:
        self._parcel = None
        self._tries = 0
        return Change(change, urgent=True)

    def _pause(self, now: Moment, offset: int, error: CallboardError) -> Iterator[Decided]:
        self._tries += 1
        delay_s = self._settings.retry.delay_s(self._tries, self._rng)
        self._not_before_s = now.mono_s + delay_s
        reason = ledger_changes.text(error)
        yield note("retrial.failed", "warning", offset=offset, retry_in_s=round(delay_s, 1), reason=reason)
        yield After(TIMER, delay_s)
