"""The package at the head of the queue: passed over, imported, tried again, or given up."""

from collections.abc import Iterator
from random import Random

from callboard.actors.decision import After, Effect, Moment, note
from callboard.actors.effects import ImportPackages
from callboard.actors.subscriber import bookkeeping
from callboard.actors.subscriber.backlog import Backlog
from callboard.actors.subscriber.book import Book
from callboard.actors.subscriber.condition import Condition
from callboard.actors.subscriber.gate import Leave, Wait
from callboard.actors.subscriber.gates import gates
from callboard.actors.subscriber.parcel import Parcel, parcel
from callboard.actors.subscriber.settings import SubscriberSettings
from callboard.actors.subscriber.verdict import Verdict, died_too_often, judge
from callboard.errors import CallboardError
from callboard.messages.distribution import PackageMessage, State, Status
from callboard.messages.ledger import Ledger
from callboard.messages.record import Record

RETRY = "retry"
"""The timer that ends the wait after a failure."""

GATE = "gate"
"""The timer after which a gate is asked again that did not let the package pass."""

STATE_OF = {Verdict.WAIT: State.WAITING, Verdict.RETRY: State.RETRYING, Verdict.BLOCK: State.BLOCKED}


class Head:
    """Decides about one package at a time, and writes what became of it into the book."""

    def __init__(
        self, settings: SubscriberSettings, rng: Random, book: Book, backlog: Backlog, condition: Condition
    ) -> None:
        self._settings = settings
        self._rng = rng
        self._book = book
        self._backlog = backlog
        self._condition = condition
        self._gates = gates(settings)
        self._parcel: Parcel | None = None  # the record at the head, opened once however often it is looked at
        self.tries = 0
        """At this package, by this incarnation; the ledger counts those that count."""
        self.waits = False
        """Whether the next try has to wait."""
        self.publishers: set[str] = set(settings.follows)
        """Those that packages were met of."""

    def work(self, now: Moment) -> Iterator[Effect]:
        """Work through the backlog up to the next import, failure, closed gate, or full outbox."""
        self._condition.gate = None
        offset = -1
        while not self._book.busy and (record := self._backlog.head) is not None and record.offset != offset:
            waiting = len(self._book.ledger.outbox)
            if waiting >= self._settings.outbox_max:
                self._condition.statuses = f"{waiting} statuses wait for the log"
                return
            self._condition.statuses = ""
            offset = record.offset
            yield from self._take(self._opened(record), now)

    def wake(self) -> None:
        """Try again at once."""
        self.waits = False

    def move_on(self) -> None:
        """This package is done with."""
        self._backlog.drop(self._book.ledger.offset)
        self._condition.recover()
        self.tries = 0
        self.waits = False

    def failed(self, tried: ImportPackages, error: CallboardError, now: Moment) -> Iterator[Effect]:
        """The import has failed."""
        verdict = judge(error, tried.attempt.attempts, self._settings)
        blameless = verdict in (Verdict.WAIT, Verdict.BLOCK)
        change = bookkeeping.not_counted if blameless else bookkeeping.failed
        self._book.write(change(tried.attempt, error))
        head = self._backlog.head
        assert head is not None
        assert head.offset == tried.offset
        yield from self._carry_out(verdict, self._opened(head), error, now)

    def _opened(self, record: Record) -> Parcel:
        if self._parcel is None or self._parcel.offset != record.offset:
            self._parcel = parcel(record, self._settings)
        return self._parcel

    def _take(self, head: Parcel, now: Moment) -> Iterator[Effect]:
        ledger, offset = self._book.ledger, head.offset
        if head.foreign:
            self._book.write(bookkeeping.passed(ledger, offset, head.record_id))
            self.move_on()
        elif offset <= bookkeeping.watermark(ledger, head.publisher):
            self._finish(head, Status.REMOVED, now)
        elif head.problem is not None:
            if not self.waits:
                yield from self._carry_out(judge(head.problem, 0, self._settings), head, head.problem, now)
        elif head.message is not None:
            yield from self._ask_gates(head, head.message, now)

    def _ask_gates(self, head: Parcel, message: PackageMessage, now: Moment) -> Iterator[Effect]:
        """A closed gate shows even while a failed package waits for its next try."""
        self.publishers.add(message.publisher)
        ledger = self._book.ledger
        answers = (gate.judge(head.offset, message, ledger, now) for gate in self._gates)
        match next((answer for answer in answers if answer is not None), None):
            case Leave(status, reason):
                self._finish(head, status, now, reason)
                yield note("package.left", offset=head.offset, status=status.name, reason=reason)
            case Wait(again_s=again_s) as wait:
                self._condition.gate = wait
                yield After(GATE, again_s)
            case None if not self.waits:
                yield from self._attempt(head, message, now)

    def _attempt(self, head: Parcel, message: PackageMessage, now: Moment) -> Iterator[Effect]:
        ledger, offset = self._book.ledger, head.offset
        tried = ledger.attempts if ledger.attempt_offset == offset else 0
        if died_too_often(tried, self._settings):
            before = f"; before that: {ledger.last_error}" if ledger.last_error else ""
            yield from self._give_up(head, f"the importer died in attempt {tried}{before}", now)
            return
        attempt = bookkeeping.attempting(ledger, offset)
        after = self._finished(attempt, head, Status.IMPORTED, now)
        yield self._book.begin(ImportPackages((message,), (offset,), attempt, after))

    def _carry_out(self, verdict: Verdict, head: Parcel, error: CallboardError, now: Moment) -> Iterator[Effect]:
        reason = bookkeeping.text(error)
        if verdict is Verdict.GIVE_UP:
            yield from self._give_up(head, reason, now)
            return
        self.tries += 1
        self.waits = True
        delay_s = self._settings.retry.delay_s(self.tries, self._rng)
        self._condition.fail(reason, STATE_OF[verdict], now.wall_ns + int(delay_s * 1e9))
        wait_s = round(delay_s, 1)
        yield note(
            "import.failed", "warning", offset=head.offset, tries=self.tries, retry_in_s=wait_s, reason=reason
        )
        yield After(RETRY, delay_s)

    def _give_up(self, head: Parcel, reason: str, now: Moment) -> Iterator[Effect]:
        self._book.write(bookkeeping.failed(self._book.ledger, reason))
        self._finish(head, Status.REMOVED_FAILED, now)
        yield note("import.given_up", "error", offset=head.offset, reason=reason)

    def _finish(self, head: Parcel, status: Status, now: Moment, reason: str = "") -> None:
        self._book.write(self._finished(self._book.ledger, head, status, now, reason), urgent=True)
        self.move_on()

    def _finished(self, ledger: Ledger, head: Parcel, status: Status, now: Moment, reason: str = "") -> Ledger:
        publish = self._settings.editable or status not in bookkeeping.EDITABLE_ONLY
        return bookkeeping.finished(ledger, head, status, publish=publish, now_ns=now.wall_ns, reason=reason)
