"""The importer: brings the repository forward along the log, package after package."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from random import Random

from callboard.actors.core.decision import (
    After,
    Done,
    Effect,
    Failed,
    Input,
    Moment,
    Origin,
    PeerUp,
    Reply,
    Send,
    Started,
    Stopped,
    Stopping,
    Tick,
    note,
)
from callboard.actors.core.effects import (
    FindBounds,
    ImportPackages,
    OpenRepository,
    ReadLog,
    RunHook,
    SaveLedger,
    SurveyRepository,
    TopicBounds,
)
from callboard.actors.subscriber import roles
from callboard.actors.subscriber.commands import recorded
from callboard.actors.subscriber.commands.execution import CommandExecution
from callboard.actors.subscriber.hooks.hooks_due import HooksDue
from callboard.actors.subscriber.importing.backlog import Backlog
from callboard.actors.subscriber.importing.caught_up import CaughtUp
from callboard.actors.subscriber.importing.next_package import RETRY, NextPackage
from callboard.actors.subscriber.importing.progress import Progress
from callboard.actors.subscriber.ledger import ledger_changes
from callboard.actors.subscriber.ledger.ledger_state import LedgerState
from callboard.actors.subscriber.quarantine import quarantine
from callboard.actors.subscriber.quarantine.retry_given_up import GivenUpRetry
from callboard.actors.subscriber.quarantine.retry_held import HeldRetry
from callboard.actors.subscriber.reporting import announcement
from callboard.actors.subscriber.reporting.condition import Condition
from callboard.actors.subscriber.reporting.failure_log import FailureLog
from callboard.actors.subscriber.settings import SubscriberSettings
from callboard.actors.subscriber.staging.golden_gate import GoldenGate
from callboard.actors.subscriber.startup.startup import OPEN, Startup
from callboard.content.survey import Survey
from callboard.errors import RepositoryError
from callboard.messages.distribution.ledger import Ledger
from callboard.messages.distribution.mailbox import (
    Admitted,
    CaughtUpQuery,
    CommandPassedOver,
    CommandReceived,
    CommandsBlocked,
    CommandsRead,
    Obstacle,
    PackagesRead,
    PackagesUnavailable,
    Report,
    ReportQuery,
    Settled,
    StatusesSent,
    Verdicts,
)
from callboard.messages.distribution.topic_messages import State

LOOK = "look"
LOOK_S = 1.0
"""Between tries to find the bounds of a log that fails."""
REPORT = "report"
REPORT_S = 0.2
"""Reports to the announcer are gathered for so long."""
SETTLE = "settle"
SETTLE_S = 1.0
"""What a crash may forget is stored after so long, without waiting for the disk."""


STUCK = (State.BLOCKED, State.GAP, State.PAUSED)
"""The states that pass only when somebody does something: whoever waits for the end of the log need not wait on."""


class Importer:
    """Brings the repository forward along the log: in its order, but for what waits in ``quarantine``. How it begins is
    in ``arrival``.

    Receives: Admitted (announcer), PackagesRead / PackagesUnavailable (package_poller), CommandReceived /
        CommandPassedOver / CommandsRead / CommandsBlocked (command_handler), StatusesSent (bookkeeper), Verdicts
        (golden_watcher), CaughtUpQuery / ReportQuery (gateway).
    Sends: Report, LogMessage (announcer), PackagesWanted (package_poller), CommandsWanted (command_handler),
        StatusesPending (bookkeeper), VerdictsWanted (golden_watcher), AgentProblem (gateway); Report and Settled, to
        whoever asked.
    Stores: the ledger, in the repository: with each batch of packages in one transaction, and before each attempt.
    Timers: "open" the repository again, "look" for the log's bounds again, "retry" a package, ask a "gate" again,
        try a held package again ("retrial"), "report", "settle", call a "hook" again, say that an import is "slow".
    Gives up: on a package that failed ``max_retries + 1`` times: it is REMOVED_FAILED, or HELD with what touches its
        paths, and the queue moves on, or with ``on_give_up = "block"`` stays. On a hook after the import that failed
        ``hooks.max_retries + 1`` times: HOOK_FAILED. Altogether, if the repository cannot be opened at the start, or is
        another one after an error.
    """

    def __init__(self, settings: SubscriberSettings, rng: Random) -> None:
        self._settings = settings
        self._state = LedgerState()
        self._condition = Condition()
        self._startup = Startup(settings, rng, self._state, self._condition)
        self._backlog = Backlog(settings.fetch_records, settings.fetch_bytes)
        self._caught_up = CaughtUp()
        self._golden = GoldenGate(settings.golden, settings.name) if settings.golden else None
        self._next = NextPackage(settings, rng, self._state, self._backlog, self._condition, self._golden)
        gates = [gate for gate in self._next.gates if gate is not self._golden]  # whose verdict came before it was held
        self._held = HeldRetry(settings, rng, self._state, gates)
        self._given_up = GivenUpRetry(settings)
        self._commands = CommandExecution(
            settings, self._state, self._next, self._condition, self._held, self._given_up
        )
        self._hooks = HooksDue(settings, rng, self._state)
        self._progress = Progress()
        self._failures = FailureLog(settings)
        self._reported = self._state.ledger
        self._timers: set[str] = set()
        self._mailed = self._told = 0  # the newest status that the bookkeeper was mailed, and that is on the log
        self._introduced = False  # the announcer was told who we are
        self._ordered = False  # every command there was has been heard, so the first import does not overtake a clear
        self._listening = False  # commands were asked for
        self._looking = self._reading = self._stopping = False

    def receive(self, message: Input, origin: Origin, now: Moment) -> Iterable[Effect]:
        """Handle one input, then do whatever the new state allows."""
        match message:
            case Started():
                yield self._state.open()
            case Done() | Failed():
                yield from self._ended(message, now)
            case Tick(key):
                self._timers.discard(key)
                yield from self._tick(key)
            case PeerUp(role):
                yield from self._greet(role)
            case Stopping():
                self._stopping = True
            case CaughtUpQuery():
                self._caught_up.ask(origin)
            case ReportQuery():
                yield Reply(origin, self._report())
            case _:
                yield from self._hear(message)
        yield from self._go_on(now)

    def _ended(self, outcome: Done | Failed, now: Moment) -> Iterator[Effect]:
        """An effect was carried out, or not."""
        match outcome:
            case Done(FindBounds(), bounds):
                yield from self._found(bounds)
            case Failed(FindBounds(), error):
                self._looking = False
                self._caught_up.not_found()
                self._commands.not_found()
                self._condition.unreadable = ledger_changes.text(error)
                yield from self._arm(LOOK, LOOK_S)
            case Done(ReadLog(owner=owner)) | Failed(ReadLog(owner=owner)):
                match owner:
                    case Startup.OWNER:
                        yield from self._compared(outcome)
                    case HeldRetry.OWNER:
                        yield from self._held.read(outcome, now)
                    case GivenUpRetry.OWNER:
                        self._given_up.read(outcome, self._state.ledger)
            case Done(RunHook()) | Failed(RunHook()):
                yield from self._hooks.ended(outcome, now)
                yield from self._failures.tell(outcome, self._state.ledger)
            case _:
                self._state.ended()
                yield from self._repository_answered(outcome, now)

    def _hear(self, message: Input) -> Iterator[Effect]:
        match message:
            case Admitted(until_ms=until_ms):
                self._startup.admit(until_ms)
            case PackagesRead():
                self._backlog.read(message)
                self._condition.unreadable = ""
            case PackagesUnavailable() if self._reading and self._backlog.expects(message.start):
                self._condition.unreadable = message.reason
                if message.obstacle is not Obstacle.UNAVAILABLE:
                    self._startup.lost()
                    self._reading = False
            case CommandReceived() | CommandPassedOver() if self._listening:
                self._commands.hear(message)
                if self._startup.known and not self._startup.open and not self._state.busy:
                    yield self._state.open()  # whatever the command is, it is worth a try
            case CommandsRead(void=void) if self._listening:
                self._ordered = True
                if void:
                    self._state.change(lambda ledger: replace(ledger, void_commands=void))
            case CommandsBlocked() if self._listening:
                self._ordered = True
                self._condition.commands = message.reason
            case Verdicts() if self._golden is not None:
                self._golden.hear(message)
            case StatusesSent(sequence=sequence):
                self._told = max(self._told, sequence)
                self._state.change(lambda ledger: ledger_changes.statuses_sent(ledger, sequence))

    def _tick(self, key: str) -> Iterator[Effect]:
        if key == RETRY:
            self._next.wake()
        elif key == OPEN and not self._state.busy and not self._startup.open:
            yield self._state.open()
        elif key == REPORT:
            yield Send(roles.ANNOUNCER, self._report())
        elif key == SETTLE and self._startup.open and self._state.dirty and not self._state.busy:
            yield self._state.save(durable=False)

    def _greet(self, role: str) -> Iterator[Effect]:
        """A peer is new: tell it what its predecessor knew."""
        if role == roles.ANNOUNCER and self._introduced:
            yield Send(roles.ANNOUNCER, self._report())
        elif role == roles.COMMAND_HANDLER and self._listening:
            yield from self._listen()
        elif role == roles.GOLDEN_WATCHER and self._golden is not None:
            self._golden.forget_wish()
        elif role == roles.STATUS_SENDER:
            self._mailed = self._told
        elif role == roles.PACKAGE_POLLER:
            self._backlog.forget_wish()

    # What became of the one repository effect that was under way.

    def _repository_answered(self, outcome: Done | Failed, now: Moment) -> Iterator[Effect]:
        match outcome:
            case Done(OpenRepository(), stored):
                yield from self._opened(stored, now)
            case Done(SaveLedger(ledger)):
                self._state.holds(ledger)
                self._startup.written()
            case Done(ImportPackages(packages, offsets) as attempt, Ledger() as ledger):
                self._progress.succeed(now)
                self._state.holds(ledger)
                self._startup.written()
                if attempt.owner == HeldRetry.OWNER:
                    self._held.imported()
                else:
                    self._next.move_on()
                first, last = packages[0].package_id, offsets[-1]
                yield note("package.imported", offset=offsets[0], package=first, packages=len(offsets), last=last)
            case Failed(ImportPackages() as attempt, error):
                self._progress.end()
                yield from self._failures.tell(outcome, self._state.ledger)
                if attempt.owner == HeldRetry.OWNER:
                    yield from self._held.failed(attempt, error, now)
                else:
                    yield from self._next.failed(attempt, error, now)
                if isinstance(error, RepositoryError):
                    yield from self._find_out(attempt)
            case Done(SurveyRepository() as effect, Survey() as found) | Failed(SurveyRepository() as effect, found):
                self._commands.surveyed(effect, found)
            case Failed(_, error):
                yield from self._startup.failed(error)

    def _opened(self, stored: Ledger | None, now: Moment) -> Iterator[Effect]:
        before = self._state.ledger.offset
        first = not self._startup.known
        yield from self._startup.opened(stored)
        if first:
            self._condition.enter(State.STARTING, self._starting(), now)
        elif self._state.ledger.offset > before:
            self._next.move_on()

    def _find_out(self, attempt: ImportPackages) -> Iterator[Effect]:
        self._state.doubt(attempt)
        self._startup.open = False
        yield self._state.open()

    def _found(self, bounds: TopicBounds) -> Iterator[Effect]:
        self._looking = False
        self._condition.unreadable = ""
        self._caught_up.found(bounds.end)
        self._progress.end_is(bounds.end)
        self._commands.found(bounds.end)
        if self._startup.wants_bounds and not self._state.busy:
            yield from self._startup.place(bounds)

    def _compared(self, outcome: Done | Failed) -> Iterator[Effect]:
        yield from self._startup.compared(outcome)
        if isinstance(outcome, Failed):
            self._condition.unreadable = ledger_changes.text(outcome.error)
            yield from self._arm(LOOK, LOOK_S)

    def _listen(self) -> Iterator[Effect]:
        self._listening = True
        self._commands.begin()
        yield Send(roles.COMMAND_HANDLER, recorded.wanted(self._state.ledger))

    # Going on: what the state allows, whatever the input was.

    def _go_on(self, now: Moment) -> Iterator[Effect]:
        self._startup.lapse(now)
        if self._startup.complete and not self._stopping:
            yield from self._hooks.start()
        if not self._state.busy:
            yield from self._obey(now)
        if not self._state.busy:  # an order may be about what the repository holds
            yield from self._use_repository(now)
        if (read := self._given_up.wish()) is not None:
            yield read
        curious = self._caught_up.curious or self._commands.curious or self._wants_place()
        if curious and not self._looking and LOOK not in self._timers:
            self._looking = True
            self._caught_up.look()
            self._commands.look()
            yield FindBounds(self._settings.topics.package)
        if self._reading and (wish := self._backlog.wish()) is not None:
            yield Send(roles.PACKAGE_POLLER, wish)
        if self._introduced and not self._stopping:
            working = self._backlog.head is not None
            self._condition.slow = self._progress.slow(now)
            news = self._condition.observe(self._state.ledger, starting=self._starting(), working=working, now=now)
            if news or self._state.ledger is not self._reported:
                yield from self._arm(REPORT, REPORT_S)
        yield from self._tell()
        if self._state.named and not self._introduced:
            self._introduced = True
            yield Send(roles.ANNOUNCER, self._report())
        if self._introduced and not self._stopping and self._state.dirty and not self._state.busy:
            yield from self._arm(SETTLE, SETTLE_S)

    def _starting(self) -> str:
        """What it does before the first import."""
        if not self._startup.admitted:
            return "waits for its name"
        if not self._reading:
            return "looks for its position in the log"
        return "" if self._ordered else "reads the commands given so far"

    def _wants_place(self) -> bool:
        return self._startup.wants_bounds and not self._state.busy

    def _obey(self, now: Moment) -> Iterator[Effect]:
        if self._startup.open:
            self._state.catch_up()
            if self._startup.admitted and not self._stopping:
                yield from self._commands.carry_out(now)

    def _use_repository(self, now: Moment) -> Iterator[Effect]:
        if self._stopping:
            yield from self._stop(now)
        elif self._startup.open and self._state.urgent:
            yield self._state.save(durable=True)
        elif self._startup.complete and not self._reading:
            self._reading = True
            self._backlog.begin(self._state.ledger.log_id, self._state.ledger.offset + 1)
            if not self._listening:
                yield from self._listen()
        elif self._startup.open and self._startup.admitted and self._condition.gap and not self._listening:
            yield from self._listen()
        elif self._startup.complete and self._ordered and not self._commands.pending:
            yield from self._hooks.choose(now)
            if not self._state.busy:
                for effect in self._held.work(now):
                    yield self._progress.time(effect, self._backlog, now)
            for effect in self._next.work(now):
                self._progress.time(effect, self._backlog, now)
                yield from self._progress.follow(effect, self._backlog.head, now)
            if self._golden is not None and (wanted := self._golden.wish(self._state.ledger.offset)) is not None:
                yield Send(roles.GOLDEN_WATCHER, wanted)
            if self._state.urgent and not self._state.busy:  # packages that needed no import, to be told of
                yield self._state.save(durable=True)

    # Telling.

    def _tell(self) -> Iterator[Effect]:
        if self._mailed <= self._told:
            pending = self._state.pending(above=self._told)
            statuses, results = pending.statuses[-1:], pending.results[-1:]
            if statuses or results:
                self._mailed = max([line.sequence for line in statuses] + [line.sequence for line in results])
                yield Send(roles.STATUS_SENDER, pending)
        if not self._ordered or self._commands.pending:
            return  # what was ordered comes first
        reached, stuck = self._backlog.reached if self._reading else -1, self._condition.state in STUCK
        trying = self._hooks.hopeful or quarantine.due(self._state.ledger) is not None
        for origin, done in self._caught_up.settled(reached, trying=trying, stuck=stuck):
            report = self._report()
            yield Send(roles.ANNOUNCER, report)  # who asks is going to look
            left = announcement.unfinished(self._state.ledger)
            yield Reply(origin, Settled(announcement=report.announcement, reached=done, unfinished=left))

    def _report(self) -> Report:
        self._reported = self._state.ledger
        message = announcement.report(
            self._settings, self._reported, self._condition, tries=self._next.tries, publishers=self._next.publishers
        )
        return self._progress.add_to(message, self._backlog)

    def _arm(self, key: str, seconds: float) -> Iterator[Effect]:
        """Start the timer unless it runs."""
        if key not in self._timers:
            self._timers.add(key)
            yield After(key, seconds)

    def _stop(self, now: Moment) -> Iterator[Effect]:
        if self._hooks.running:
            return
        if self._startup.open and (self._state.dirty or self._state.urgent):
            yield self._state.save(durable=True)
            return
        yield Send(roles.STATUS_SENDER, replace(self._state.pending(above=0), last=True))
        if self._introduced:
            self._condition.leave(now)
            yield Send(roles.ANNOUNCER, self._report())
        yield Stopped()
