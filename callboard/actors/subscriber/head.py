"""The package at the head of the queue: passed over, imported, tried again, or given up."""

from collections.abc import Iterator
from random import Random

from callboard.actors.decision import After, Effect, Moment, note
from callboard.actors.effects import ImportPackage
from callboard.actors.subscriber import bookkeeping
from callboard.actors.subscriber.backlog import Backlog
from callboard.actors.subscriber.book import Book
from callboard.actors.subscriber.condition import Condition
from callboard.actors.subscriber.settings import SubscriberSettings
from callboard.actors.subscriber.verdict import Verdict, exhausted, judge
from callboard.errors import CallboardError, SchemaTooNew, Undecodable
from callboard.messages.distribution import Kind, PackageMessage, State, Status
from callboard.messages.headers import open_record
from callboard.messages.ledger import Ledger
from callboard.messages.record import Record

RETRY = "retry"
"""The timer that ends the wait after a failure."""

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
        self.tries = 0
        """At this package, by this incarnation; the ledger counts those that count."""
        self.waits = False
        """Whether the next try has to wait."""
        self.publishers: set[str] = set(settings.follows)
        """Those that packages were met of."""

    def work(self, now: Moment) -> Iterator[Effect]:
        """Work through the backlog up to the next import, failure, or full outbox."""
        while not self._book.busy and not self.waits and (record := self._backlog.head) is not None:
            waiting = len(self._book.ledger.outbox)
            if waiting >= self._settings.outbox_max:
                self._condition.statuses = f"{waiting} statuses wait for the log"
                return
            self._condition.statuses = ""
            yield from self._take(record, now)

    def wake(self) -> None:
        """Try again at once."""
        self.waits = False

    def move_on(self) -> None:
        """This package is done with."""
        self._backlog.drop(self._book.ledger.offset)
        self._condition.recover()
        self.tries = 0
        self.waits = False

    def failed(self, tried: ImportPackage, error: CallboardError, now: Moment) -> Iterator[Effect]:
        """The import has failed."""
        verdict = judge(error, tried.attempt.attempts, self._settings)
        blameless = verdict in (Verdict.WAIT, Verdict.BLOCK)
        change = bookkeeping.not_counted if blameless else bookkeeping.failed
        self._book.write(change(tried.attempt, error))
        yield from self._carry_out(verdict, tried.offset, tried.message, error, now)

    def _take(self, record: Record, now: Moment) -> Iterator[Effect]:
        """Headers decide where they can: what is not followed is not decoded."""
        ledger, offset, publisher = self._book.ledger, record.offset, record.header("publisher")
        message: PackageMessage | None = None
        problem: CallboardError | None = None
        if not publisher or self._settings.follows_publisher(publisher):
            try:
                message = open_record(record, PackageMessage)
                publisher = message.publisher
            except (Undecodable, SchemaTooNew) as error:
                problem = error
        if problem is None and (message is None or not self._concerns(message)):
            self._book.write(bookkeeping.skipped(ledger, offset))
            self.move_on()
        elif offset <= bookkeeping.watermark(ledger, publisher):
            self._finish(offset, message, Status.REMOVED, now)
        elif problem is not None:
            yield from self._carry_out(judge(problem, 0, self._settings), offset, None, problem, now)
        elif message is not None:
            yield from self._attempt(offset, message, now)

    def _concerns(self, message: PackageMessage) -> bool:
        return message.kind is not Kind.TEST and self._settings.follows_publisher(message.publisher)

    def _attempt(self, offset: int, message: PackageMessage, now: Moment) -> Iterator[Effect]:
        self.publishers.add(message.publisher)
        ledger = self._book.ledger
        tried = ledger.attempts if ledger.attempt_offset == offset else 0
        if exhausted(tried, self._settings):
            before = f"; before that: {ledger.last_error}" if ledger.last_error else ""
            yield from self._give_up(offset, message, f"the importer died in attempt {tried}{before}", now)
            return
        attempt = bookkeeping.attempting(ledger, offset)
        after = self._finished(attempt, offset, message, Status.IMPORTED, now)
        yield self._book.begin(ImportPackage(message, offset, attempt, after))

    def _carry_out(
        self, verdict: Verdict, offset: int, message: PackageMessage | None, error: CallboardError, now: Moment
    ) -> Iterator[Effect]:
        reason = bookkeeping.text(error)
        if verdict is Verdict.GIVE_UP:
            yield from self._give_up(offset, message, reason, now)
            return
        self.tries += 1
        self.waits = True
        delay_s = self._settings.retry.delay_s(self.tries, self._rng)
        self._condition.fail(reason, STATE_OF[verdict], now.wall_ns + int(delay_s * 1e9))
        yield note(
            "import.failed", "warning", offset=offset, tries=self.tries, retry_in_s=round(delay_s, 1), reason=reason
        )
        yield After(RETRY, delay_s)

    def _give_up(self, offset: int, message: PackageMessage | None, reason: str, now: Moment) -> Iterator[Effect]:
        self._book.write(bookkeeping.failed(self._book.ledger, reason))
        self._finish(offset, message, Status.REMOVED_FAILED, now)
        yield note("import.given_up", "error", offset=offset, reason=reason)

    def _finish(self, offset: int, message: PackageMessage | None, status: Status, now: Moment) -> None:
        self._book.write(self._finished(self._book.ledger, offset, message, status, now), urgent=True)
        self.move_on()

    def _finished(
        self, ledger: Ledger, offset: int, message: PackageMessage | None, status: Status, now: Moment
    ) -> Ledger:
        publish = self._settings.editable or status is Status.REMOVED_FAILED
        return bookkeeping.finished(ledger, offset, message, status, publish=publish, now_ns=now.wall_ns)
