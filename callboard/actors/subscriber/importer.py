"""The importer: brings the repository forward along the log, one package after the other."""

from collections.abc import Iterable, Iterator
from random import Random

from callboard.actors.decision import (
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
from callboard.actors.effects import FindBounds, ImportPackages, OpenRepository, SaveLedger, TopicBounds
from callboard.actors.subscriber import announcement, bookkeeping, commands, roles
from callboard.actors.subscriber.arrival import OPEN, Arrival
from callboard.actors.subscriber.backlog import Backlog
from callboard.actors.subscriber.book import Book
from callboard.actors.subscriber.caught_up import CaughtUp
from callboard.actors.subscriber.condition import Condition
from callboard.actors.subscriber.head import RETRY, Head
from callboard.actors.subscriber.settings import SubscriberSettings
from callboard.errors import RepositoryError
from callboard.messages.distribution import State
from callboard.messages.ledger import Ledger
from callboard.messages.mailbox import (
    Admitted,
    CaughtUpQuery,
    CommandReceived,
    CommandsBlocked,
    CommandsRead,
    Obstacle,
    PackagesRead,
    PackagesUnavailable,
    Report,
    ReportQuery,
    StatusesPending,
    StatusesSent,
)

LOOK = "look"
LOOK_S = 1.0
"""Between tries to find the bounds of a log that fails."""
REPORT = "report"
REPORT_S = 0.2
"""Reports to the announcer are gathered for so long."""
SETTLE = "settle"
SETTLE_S = 1.0
"""What a crash may forget is stored after so long, without waiting for the disk."""


class Importer:
    """Brings the repository forward along the log, strictly in order. How it begins is in ``arrival``.

    Receives: Admitted (announcer), PackagesRead / PackagesUnavailable (package_poller), CommandReceived /
        CommandsRead / CommandsBlocked (command_handler), StatusesSent (bookkeeper), CaughtUpQuery / ReportQuery
        (gateway).
    Sends: Report (announcer), PackagesWanted (package_poller), CommandsWanted (command_handler),
        StatusesPending (bookkeeper), AgentProblem (gateway).
    Stores: the ledger, in the repository: with each package in one transaction, and before each attempt.
    Timers: "open" the repository again, "look" for the log's bounds again, "retry" a package, "report", "settle".
    Gives up when: a package failed ``max_retries + 1`` times (status REMOVED_FAILED, the queue moves on); the
        repository cannot be opened at the start, or is another one after an error.
    """

    def __init__(self, settings: SubscriberSettings, rng: Random) -> None:
        self._settings = settings
        self._book = Book()
        self._condition = Condition()
        self._arrival = Arrival(settings, rng, self._book, self._condition)
        self._backlog = Backlog(settings.fetch_records, settings.fetch_bytes)
        self._caught_up = CaughtUp()
        self._head = Head(settings, rng, self._book, self._backlog, self._condition)
        self._reported = self._book.ledger
        self._timers: set[str] = set()
        self._mailed = self._told = 0  # the newest status that the bookkeeper was mailed, and that is on the log
        self._introduced = False  # the announcer was told who we are
        self._ordered = False  # every command there was has been heard, so the first import does not overtake a clear
        self._looking = self._reading = self._stopping = False

    def receive(self, message: Input, origin: Origin, now: Moment) -> Iterable[Effect]:
        """Handle one input, then do whatever the new state allows."""
        match message:
            case Started():
                yield self._book.open()
            case Done(FindBounds(), bounds):
                yield from self._found(bounds)
            case Failed(FindBounds(), error):
                self._looking = False
                self._caught_up.not_found()
                self._condition.unreadable = bookkeeping.text(error)
                yield from self._arm(LOOK, LOOK_S)
            case Done() | Failed():
                self._book.ended()
                yield from self._repository_answered(message, now)
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

    def _hear(self, message: Input) -> Iterator[Effect]:
        match message:
            case Admitted(until_ms=until_ms):
                self._arrival.admit(until_ms)
            case PackagesRead():
                self._backlog.read(message)
                self._condition.unreadable = ""
            case PackagesUnavailable() if self._reading and self._backlog.expects(message.start):
                self._condition.unreadable = message.reason
                if message.obstacle is not Obstacle.UNAVAILABLE:
                    self._arrival.lost()
                    self._reading = False
            case CommandReceived() if self._reading:  # asked for anew when the reading begins
                yield from self._obey(message)
            case CommandsRead() if self._reading:
                self._ordered = True
            case CommandsBlocked() if self._reading:
                self._ordered = True
                self._condition.commands = f"command at offset {message.offset}: {message.reason}"
            case StatusesSent(sequence=sequence):
                self._told = max(self._told, sequence)
                self._book.change(lambda ledger: bookkeeping.statuses_sent(ledger, sequence))

    def _tick(self, key: str) -> Iterator[Effect]:
        if key == RETRY:
            self._head.wake()
        elif key == OPEN and not self._book.busy and not self._arrival.open:
            yield self._book.open()
        elif key == REPORT:
            yield Send(roles.ANNOUNCER, self._report())
        elif key == SETTLE and self._arrival.open and self._book.dirty and not self._book.busy:
            yield self._book.save(durable=False)

    def _greet(self, role: str) -> Iterator[Effect]:
        """A peer is new: tell it what its predecessor knew."""
        if role == roles.ANNOUNCER and self._introduced:
            yield Send(roles.ANNOUNCER, self._report())
        elif role == roles.COMMAND_HANDLER and self._reading:
            yield Send(roles.COMMAND_HANDLER, commands.wanted(self._book.ledger))
        elif role == roles.BOOKKEEPER:
            self._mailed = self._told
        elif role == roles.PACKAGE_POLLER:
            self._backlog.forget_wish()

    # What became of the one repository effect that was under way.

    def _repository_answered(self, outcome: Done | Failed, now: Moment) -> Iterator[Effect]:
        match outcome:
            case Done(OpenRepository(), stored):
                yield from self._opened(stored, now)
            case Done(SaveLedger(ledger)):
                self._book.holds(ledger)
                self._arrival.written()
            case Done(ImportPackages(packages, offsets, _, ledger)):
                self._book.holds(ledger)
                self._arrival.written()
                self._head.move_on()
                for offset, message in zip(offsets, packages, strict=True):
                    yield note("package.imported", offset=offset, package=message.package_id)
            case Failed(ImportPackages() as attempt, error):
                yield from self._head.failed(attempt, error, now)
                if isinstance(error, RepositoryError):
                    yield from self._find_out(attempt)
            case Failed(_, error):
                yield from self._arrival.failed(error)

    def _opened(self, stored: Ledger | None, now: Moment) -> Iterator[Effect]:
        before = self._book.ledger.offset
        first = not self._arrival.known
        yield from self._arrival.opened(stored)
        if first:
            self._condition.enter(State.STARTING, self._starting(), now)
        elif self._book.ledger.offset > before:
            self._head.move_on()

    def _find_out(self, attempt: ImportPackages) -> Iterator[Effect]:
        self._book.doubt(attempt)
        self._arrival.open = False
        yield self._book.open()

    def _found(self, bounds: TopicBounds) -> Iterator[Effect]:
        self._looking = False
        self._condition.unreadable = ""
        self._caught_up.found(bounds.end)
        if self._arrival.wants_bounds and not self._book.busy:
            yield from self._arrival.place(bounds)

    def _obey(self, message: CommandReceived) -> Iterator[Effect]:
        ledger, command = self._book.ledger, message.command
        if bookkeeping.heard(ledger, message.log_id, message.offset):
            return
        problem = commands.refusal(command, self._settings, ledger)
        cleared = command.clear.offset if command.clear and not problem else -1
        self._book.change(lambda ledger: bookkeeping.commanded(ledger, message, cleared), urgent=True)
        self._head.wake()  # whatever the command is
        yield note(
            "command.refused" if problem else "command.accepted",
            command=command.command_id,
            author=command.author,
            reason=problem or command.reason,
        )

    # Going on: what the state allows, whatever the input was.

    def _go_on(self, now: Moment) -> Iterator[Effect]:
        self._arrival.lapse(now)
        if not self._book.busy:
            yield from self._use_repository(now)
        if not self._looking and LOOK not in self._timers and (self._caught_up.curious or self._wants_place()):
            self._looking = True
            self._caught_up.look()
            yield FindBounds(self._settings.topics.package)
        if self._reading and (wish := self._backlog.wish()) is not None:
            yield Send(roles.PACKAGE_POLLER, wish)
        if self._introduced and not self._stopping:
            working = self._backlog.head is not None
            news = self._condition.observe(self._book.ledger, starting=self._starting(), working=working, now=now)
            if news or self._book.ledger is not self._reported:
                yield from self._arm(REPORT, REPORT_S)
        yield from self._tell()
        if self._book.named and not self._introduced:
            self._introduced = True
            yield Send(roles.ANNOUNCER, self._report())
        if self._introduced and not self._stopping and self._book.dirty and not self._book.busy:
            yield from self._arm(SETTLE, SETTLE_S)

    def _starting(self) -> str:
        """What it does before the first import."""
        if not self._arrival.admitted:
            return "waits for its name"
        if not self._reading:
            return "looks for its position in the log"
        return "" if self._ordered else "reads the commands given so far"

    def _wants_place(self) -> bool:
        return self._arrival.wants_bounds and not self._book.busy

    def _use_repository(self, now: Moment) -> Iterator[Effect]:
        if self._arrival.open:
            self._book.catch_up()
        if self._stopping:
            yield from self._stop(now)
        elif self._arrival.open and self._book.urgent:
            yield self._book.save(durable=True)
        elif self._arrival.complete and not self._reading:
            self._reading = True
            self._backlog.begin(self._book.ledger.log_id, self._book.ledger.offset + 1)
            yield Send(roles.COMMAND_HANDLER, commands.wanted(self._book.ledger))
        elif self._arrival.complete and self._ordered:
            yield from self._head.work(now)
            if self._book.urgent and not self._book.busy:  # packages that needed no import, to be told of
                yield self._book.save(durable=True)

    # Telling.

    def _tell(self) -> Iterator[Effect]:
        if self._mailed <= self._told and (pending := self._book.statuses(above=self._told)):
            self._mailed = pending[-1].sequence
            yield Send(roles.BOOKKEEPER, StatusesPending(statuses=pending))
        if self._reading:
            for origin in self._caught_up.answered(self._backlog.reached):
                yield Send(roles.ANNOUNCER, self._report())  # who asks is going to look
                yield Reply(origin, self._report())

    def _report(self) -> Report:
        self._reported = self._book.ledger
        return announcement.report(
            self._settings, self._reported, self._condition, tries=self._head.tries, publishers=self._head.publishers
        )

    def _arm(self, key: str, seconds: float) -> Iterator[Effect]:
        """Start the timer unless it runs."""
        if key not in self._timers:
            self._timers.add(key)
            yield After(key, seconds)

    def _stop(self, now: Moment) -> Iterator[Effect]:
        if self._arrival.open and self._book.dirty:
            yield self._book.save(durable=True)
            return
        yield Send(roles.BOOKKEEPER, StatusesPending(statuses=self._book.ledger.outbox, last=True))
        if self._introduced:
            self._condition.leave(now)
            yield Send(roles.ANNOUNCER, self._report())
        yield Stopped()
