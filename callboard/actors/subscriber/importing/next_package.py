"""The package at the head of the queue: skipped, imported, retried, or given up."""

from collections.abc import Generator, Iterator
from random import Random

from callboard.actors.core.decision import After, Moment, note
from callboard.actors.subscriber.effects import ImportPackages
from callboard.actors.subscriber.gates.gate import Leave, Wait
from callboard.actors.subscriber.gates.in_order import gates
from callboard.actors.subscriber.importing.backlog import Backlog
from callboard.actors.subscriber.importing.batch import Batch
from callboard.actors.subscriber.importing.failure_policy import NextStep, died_too_often, given_up, judge
from callboard.actors.subscriber.importing.outcome import Outcome, recorded, unneeded
from callboard.actors.subscriber.importing.received import Received, received
from callboard.actors.subscriber.ledger import ledger_changes
from callboard.actors.subscriber.ledger.ledger_state import Decided, LedgerState, Write
from callboard.actors.subscriber.quarantine import quarantine
from callboard.actors.subscriber.reporting.condition import Failure
from callboard.actors.subscriber.settings import SubscriberSettings
from callboard.actors.subscriber.staging.golden_gate import GoldenGate
from callboard.errors import CallboardError
from callboard.messages.distribution.ledger import Ledger
from callboard.messages.distribution.topic_messages import PackageMessage, State, Status
from callboard.messages.record import Record

RETRY = "retry"
"""The timer that ends the wait after a failure."""

GATE = "gate"
"""The timer after which a gate that held the package up is asked again."""

PUBLISHERS_MAX = 1000
"""Publishers whose packages were seen, for reporting; more than a board has."""

STATE_OF = {NextStep.WAIT: State.WAITING, NextStep.RETRY: State.RETRYING, NextStep.BLOCK: State.BLOCKED}


class NextPackage:
    """Decides about one package after another, and updates the ledger accordingly.

    ``work`` takes the package at the head of the backlog. ``_judge`` says what becomes of it: it leaves without an
    import, waits for a gate, cannot be read, or is imported, in a batch with those behind it (``_attempt``). The
    importer performs the import, and then calls ``move_on``, or ``failed``. A failed package is retried after a while,
    or given up, by its verdict (``_carry_out``).
    """

    def __init__(
        self, settings: SubscriberSettings, rng: Random, state: LedgerState, backlog: Backlog, golden: GoldenGate | None
    ) -> None:
        self._settings = settings
        self._rng = rng
        self._state = state
        self._backlog = backlog
        self.gates = gates(golden)
        """The gates that a package must pass."""
        self._received: dict[int, tuple[Record, Received]] = {}  # records and what is in them, by offset
        self._held = quarantine.HeldPaths(())  # the paths of packages in quarantine
        self.tries = 0
        """Attempts at this package by this incarnation; the ledger has those that count."""
        self.waits = False
        """Whether the next attempt has to wait."""
        self.gate: Wait | None = None
        """What the package at the head waits for."""
        self.full = ""
        """That the outbox is full, and how many statuses wait in it; else empty."""
        self.failure = Failure()
        """Why the package could not be imported."""
        self.publishers: set[str] = set(settings.follows)
        """Publishers whose packages were seen."""

    def work(self, now: Moment) -> Iterator[Decided]:
        """Work through the backlog up to the next import, failure, closed gate, or full outbox."""
        self.gate = None
        while not self._state.busy and (record := self._backlog.head) is not None:
            ledger = self._state.ledger
            if self._outbox_full(ledger):
                self.full = f"{len(ledger.outbox)} statuses wait for the log"
                return
            self.full = ""
            head = self._opened(record)
            match self._judge(head, ledger, now):
                case Wait(again_s=again_s) as wait:
                    self.gate = wait
                    yield After(GATE, again_s)
                    return
                case Outcome(_, status, reason):
                    yield from self.leave(head, status, now, reason)
                case _ if self.waits:
                    return
                case CallboardError() as problem:
                    yield from self._carry_out(judge(problem, 0, self._settings), head, problem, now)
                case None:
                    yield from self._attempt(head, now)

    def settle(self, now: Moment) -> Generator[Decided, None, Received | None]:
        """Skip packages that need no import, without asking the gates; return the one then at the head, if read."""
        while not self._outbox_full(self._state.ledger) and (record := self._backlog.head) is not None:
            head = self._opened(record)
            needless = unneeded(head, self._state.ledger)
            if needless is None:
                return head
            yield from self.leave(head, needless.status, now, needless.reason)
        return None

    @property
    def reached(self) -> int:
        """Every record below this offset is processed."""
        return self._backlog.reached

    def leave(self, head: Received, status: Status | None, now: Moment, reason: str = "") -> Iterator[Decided]:
        """Finish the package at the head without importing it."""
        ledger = recorded(self._state.ledger, Outcome(head, status, reason), self._settings, now.wall_ns)
        yield Write(ledger, urgent=status is not None)
        self.move_on()

    def wake(self) -> None:
        """Retry at once."""
        self.waits = False

    def move_on(self) -> None:
        """This package is finished."""
        offset = self._state.ledger.offset
        self._backlog.drop(offset)
        self._received = {at: opened for at, opened in self._received.items() if at > offset}
        self.failure = Failure()
        self.tries = 0
        self.waits = False

    def failed(self, tried: ImportPackages, error: CallboardError, now: Moment) -> Iterator[Decided]:
        """The import has failed."""
        if not tried.alone:
            yield Write(tried.attempt)
            count = len(tried.offsets)
            reason = ledger_changes.text(error)
            yield note("batch.failed", "warning", offset=tried.offset, packages=count, reason=reason)
            return
        verdict = judge(error, tried.attempt.attempts, self._settings)
        blameless = verdict in (NextStep.WAIT, NextStep.BLOCK)
        change = ledger_changes.not_counted if blameless else ledger_changes.failed
        yield Write(change(tried.attempt, error))
        yield from self._carry_out(verdict, self._received[tried.offset][1], error, now)

    def _outbox_full(self, ledger: Ledger) -> bool:
        return len(ledger.outbox) >= self._settings.outbox_max

    def _opened(self, record: Record) -> Received:
        """Open a record once, however often it is needed. Another log may have another record at the same offset."""
        known = self._received.get(record.offset)
        if known is None or known[0] is not record:
            known = self._received[record.offset] = (record, received(record, self._settings))
        return known[1]

    def _judge(self, it: Received, ledger: Ledger, now: Moment) -> Outcome | Wait | CallboardError | None:
        """The outcome of the package, or why it waits, or its error; None means import it.

        A closed gate is reported even while a failed package waits for its retry.
        """
        if (needless := unneeded(it, ledger)) is not None:
            return needless
        if it.message is None:
            return it.problem
        if len(self.publishers) < PUBLISHERS_MAX:
            self.publishers.add(it.publisher)
        for gate in self.gates:
            match gate.judge(it.offset, it.message, ledger, now):
                case Wait() as wait:
                    return wait
                case Leave(status, reason):
                    return Outcome(it, status, reason)
        return self._behind_held(it, it.message, ledger)

    def _behind_held(self, it: Received, message: PackageMessage, ledger: Ledger) -> Outcome | Wait | None:
        """A package that must not overtake one in quarantine follows it there."""
        if not ledger.held:
            return None
        if self._held.held is not ledger.held:
            self._held = quarantine.HeldPaths(ledger.held)
        before = self._held.before(message)
        if before is None:
            return None
        if problem := quarantine.no_room(ledger, message):
            return Wait(State.BLOCKED, problem)
        return Outcome(it, Status.HELD, f"waits for offset {before.offset}, which is in quarantine")

    def _attempt(self, head: Received, now: Moment) -> Iterator[Decided]:
        """Import the package at the head, unless the importer died of it too often."""
        ledger = self._state.ledger
        tried = ledger.attempts if ledger.attempt_offset == head.offset else 0
        if died_too_often(tried, self._settings.max_retries):
            before = f"; before that: {ledger.last_error}" if ledger.last_error else ""
            yield from self._give_up(head, f"the importer died in attempt {tried}{before}", now)
            return
        yield self._state.permitted(self._gather(now).attempt())

    def _gather(self, now: Moment) -> Batch:
        """The package at the head, and the ones that can be imported with it."""
        batch = Batch(self._state.ledger, self._settings, now.wall_ns)
        for number, record in enumerate(self._backlog):
            it = self._opened(record)
            if number == 0:
                batch.put(it, Status.IMPORTED)
                continue
            if self._outbox_full(batch.ledger) or (it.message is not None and not batch.takes(it.message)):
                break
            match self._judge(it, batch.ledger, now):
                case None:
                    batch.put(it, Status.IMPORTED)
                case Outcome(_, status, reason):
                    batch.put(it, status, reason)
                case _:
                    break
        return batch

    def _carry_out(self, verdict: NextStep, head: Received, error: CallboardError, now: Moment) -> Iterator[Decided]:
        """Give the failed package up, or start the timer of its retry."""
        reason = ledger_changes.text(error)
        if verdict is NextStep.GIVE_UP:
            yield from self._give_up(head, reason, now)
            return
        self.tries += 1
        self.waits = True
        delay_s = self._settings.retry.delay_s(self.tries, self._rng)
        self.failure = Failure(reason, STATE_OF[verdict], now.wall_ns + int(delay_s * 1e9))
        wait_s = round(delay_s, 1)
        yield note("import.failed", "warning", offset=head.offset, tries=self.tries, retry_in_s=wait_s, reason=reason)
        yield After(RETRY, delay_s)

    def _give_up(self, head: Received, reason: str, now: Moment) -> Iterator[Decided]:
        """Leave the package, or block the queue until a command comes, as the settings say."""
        yield note("import.given_up", "error", offset=head.offset, reason=reason)
        end = given_up(self._state.ledger, head.message, self._settings)
        if isinstance(end, Status):
            yield from self.leave(head, end, now, reason)
            return
        self.waits = True
        yield Write(ledger_changes.failed(self._state.ledger, reason))
        self.failure = Failure(f"given up: {reason}; {end}", State.BLOCKED, 0)
        yield After(RETRY, -1)
