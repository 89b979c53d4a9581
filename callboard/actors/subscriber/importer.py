"""The importer: brings the repository forward along the log, one package after the other."""

from collections.abc import Callable, Iterable, Iterator
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
from callboard.actors.effects import FindBounds, ImportPackage, OpenRepository, SaveLedger, TopicBounds
from callboard.actors.subscriber import announcement, bookkeeping, position
from callboard.actors.subscriber.backlog import Backlog
from callboard.actors.subscriber.condition import Condition
from callboard.actors.subscriber.settings import SubscriberSettings
from callboard.errors import (
    BlobUnavailable,
    CallboardError,
    PackageError,
    RepositoryBusy,
    RepositoryError,
    SchemaTooNew,
    Undecodable,
)
from callboard.messages.distribution import Kind, PackageMessage, State, Status
from callboard.messages.headers import open_record
from callboard.messages.ledger import Ledger
from callboard.messages.mailbox import (
    Admitted,
    AgentProblem,
    CaughtUpQuery,
    CommandReceived,
    CommandsBlocked,
    CommandsWanted,
    Obstacle,
    PackagesRead,
    PackagesUnavailable,
    Problem,
    Report,
    ReportQuery,
    StatusesPending,
    StatusesSent,
)
from callboard.messages.record import Record

OPEN_TRIES = 10
"""The predecessor of a restarted importer may need a moment to let go of the repository."""
OPEN_AGAIN_S = 0.3
BOUNDS_AGAIN_S = 1.0
SKIPS_PER_SAVE = 500
"""Packages passed over before the position is stored; a crash reads at most so many again."""
REPORT_S = 0.2
"""Reports to the announcer are gathered for so long."""
SETTLE_S = 1.0
"""What only the ledger in memory knows is stored after so long."""


class Importer:
    """Brings the repository forward along the log, strictly in order.

    Receives: Admitted (announcer), PackagesRead / PackagesUnavailable (package_poller), CommandReceived /
        CommandsBlocked (command_handler), StatusesSent (bookkeeper), CaughtUpQuery / ReportQuery (gateway).
    Sends: Report (announcer), PackagesWanted (package_poller), CommandsWanted (command_handler),
        StatusesPending (bookkeeper), AgentProblem (gateway).
    Stores: the ledger, in the repository: with each package in one transaction, and before each attempt.
    Timers: "open" the repository again, "bounds" of the log again, "retry" a package, "report", "settle".
    Gives up when: a package failed ``max_retries + 1`` times (status REMOVED_FAILED, the queue moves on); the
        repository is held by another process, cannot be opened, or was written by a newer version.
    """

    def __init__(self, settings: SubscriberSettings, rng: Random) -> None:
        self._settings = settings
        self._rng = rng
        self._ledger = Ledger(instance="")
        self._changes: list[Callable[[Ledger], Ledger]] = []  # wait while the repository is being written
        self._backlog = Backlog(settings.fetch_records, settings.fetch_bytes)
        self._condition = Condition()
        self._publishers: set[str] = set(settings.follows)
        self._questions: list[Origin] = []  # who asks to be told when all is caught up
        self._targets: list[tuple[int, Origin]] = []
        self._timers: set[str] = set()
        self._open_tries = 0
        self._tries = 0  # at the package at the head, by this incarnation; the ledger counts those that count
        self._passed = 0
        self._opened = self._admitted = self._ready = self._stopping = False
        self._busy = False  # a repository effect is under way; there is one at a time
        self._dirty = False  # the ledger in memory is ahead of the stored one
        self._mailed = False  # the bookkeeper has the outbox

    def receive(self, message: Input, origin: Origin, now: Moment) -> Iterable[Effect]:
        """Handle one input, then do whatever the new state allows."""
        match message:
            case Started():
                yield self._begin(OpenRepository())
            case Done(effect=FindBounds(), result=bounds):
                yield from self._found_bounds(bounds)
            case Failed(effect=FindBounds(), error=error):
                self._condition.unreadable = str(error)
                yield from self._arm("bounds", BOUNDS_AGAIN_S)
            case Done() | Failed():
                self._busy = False
                yield from self._after_repository(message, now)
            case Tick(key=key):
                self._timers.discard(key)
                yield from self._tick(key)
            case PeerUp(role=role) if self._opened:
                yield from self._greet(role)
            case Stopping():
                self._stopping = True
            case CaughtUpQuery():
                self._questions.append(origin)
                if self._ready:
                    yield FindBounds(self._settings.topics.package)
            case ReportQuery():
                yield Reply(origin, self._report())
            case _:
                yield from self._hear(message)
        yield from self._go_on(now)

    def _hear(self, message: Input) -> Iterator[Effect]:
        match message:
            case Admitted() if not self._admitted:
                self._admitted = True
                yield FindBounds(self._settings.topics.package)
            case PackagesRead():
                self._backlog.read(message)
                self._condition.unreadable = ""
            case PackagesUnavailable() if self._ready and self._backlog.expects(message.start):
                self._condition.unreadable = message.reason
                if message.obstacle is not Obstacle.UNAVAILABLE:
                    self._ready = False  # the bounds name the gap, and the policy says what to do about it
                    yield FindBounds(self._settings.topics.package)
            case CommandReceived():
                yield self._command(message)
            case CommandsBlocked():
                self._condition.commands = f"command at offset {message.offset}: {message.reason}"
            case StatusesSent(sequence=sequence):
                self._mailed = False
                self._changes.append(lambda ledger: bookkeeping.statuses_sent(ledger, sequence))
            case _:
                pass

    def _tick(self, key: str) -> Iterator[Effect]:
        if key == "open" and not self._busy:
            yield self._begin(OpenRepository())
        elif key == "bounds":
            yield FindBounds(self._settings.topics.package)
        elif key == "report":
            yield Send("announcer", self._report())
        elif key == "settle" and self._dirty and not self._busy and self._opened:
            yield self._save(durable=False)

    def _greet(self, role: str) -> Iterator[Effect]:
        if role == "announcer":
            yield Send("announcer", self._report())
        elif role == "command_handler":
            yield self._commands_wanted()
        elif role == "bookkeeper":
            self._mailed = False
        elif role == "package_poller":
            self._backlog.forget_wish()

    # The repository.

    def _begin(self, effect: OpenRepository | SaveLedger | ImportPackage) -> Effect:
        self._busy = True
        return effect

    def _save(self, *, durable: bool) -> Effect:
        return self._begin(SaveLedger(self._ledger, durable))

    def _after_repository(self, outcome: Done | Failed, now: Moment) -> Iterator[Effect]:
        match outcome:
            case Done(effect=OpenRepository(), result=ledger):
                yield from self._found_ledger(ledger, now)
            case Failed(effect=OpenRepository(), error=error):
                yield from self._cannot_open(error)
            case Done(effect=SaveLedger(ledger=ledger)):
                self._dirty = ledger != self._ledger
            case Done(effect=ImportPackage(ledger=ledger, message=message)):
                self._ledger, self._dirty = ledger, False
                self._advance()
                yield note("package.imported", offset=ledger.offset, package=message.package_id)
            case Failed(effect=ImportPackage() as effect, error=error):
                yield from self._import_failed(effect, error, now)
            case Failed(error=error):
                yield from self._cannot_write(error)
            case _:
                pass

    def _found_ledger(self, ledger: Ledger | None, now: Moment) -> Iterator[Effect]:
        self._condition.repository = ""
        if self._opened:  # again, after an error: was the transaction committed or not?
            if ledger is not None and ledger.offset > self._ledger.offset:
                self._ledger = ledger
                self._backlog.drop(ledger.offset)
                self._condition.recover()
            self._dirty = True
            return
        self._opened = True
        self._ledger = bookkeeping.adopt(ledger, self._settings.name, f"{self._rng.getrandbits(128):032x}")
        self._condition.enter(State.STARTING, "waits for its name", now)
        yield Send("announcer", self._report())
        yield self._commands_wanted()
        if self._ledger != ledger:
            yield self._save(durable=True)

    def _cannot_open(self, error: CallboardError) -> Iterator[Effect]:
        self._open_tries += 1
        if self._opened:
            yield from self._cannot_write(error)
        elif isinstance(error, RepositoryBusy) and self._open_tries < OPEN_TRIES:
            yield from self._arm("open", OPEN_AGAIN_S)
        else:
            problem = Problem.REPOSITORY_UNAVAILABLE
            if isinstance(error, RepositoryBusy):
                problem = Problem.REPOSITORY_BUSY
            elif isinstance(error, SchemaTooNew):
                problem = Problem.SCHEMA_TOO_NEW
            yield Send("gateway", AgentProblem(problem=problem, reason=str(error)))

    def _cannot_write(self, error: CallboardError) -> Iterator[Effect]:
        """Not the package's fault, so it does not count against it: wait, open again, go on."""
        if not self._condition.repository:
            yield note("repository.failed", level="error", reason=str(error))
        self._condition.repository = str(error)
        yield from self._arm("open", self._settings.retry.delay_s(1, self._rng))

    # The position.

    def _found_bounds(self, bounds: TopicBounds) -> Iterator[Effect]:
        self._condition.unreadable = ""
        if not self._ready:
            problem = position.gap(self._ledger, bounds) if self._ledger.positioned else ""
            if problem and self._settings.on_gap == "fail":
                self._condition.gap = problem
                yield note("gap.found", level="error", reason=problem)
                return
            if problem or not self._ledger.positioned:
                start = bounds.first if problem else position.first_start(self._settings, bounds)
                self._changes.append(lambda ledger: bookkeeping.positioned(ledger, bounds.log_id, start - 1))
                yield note("position.taken", start=start, reason=problem or "first start")
            else:
                start = self._ledger.offset + 1
            self._ready = True
            self._backlog.begin(bounds.log_id, start)
            if self._questions:
                yield FindBounds(self._settings.topics.package)  # those who asked before want a later end
            return
        self._targets += [(bounds.end, origin) for origin in self._questions]
        self._questions.clear()

    # Commands.

    def _commands_wanted(self) -> Send:
        ledger = self._ledger
        wanted = CommandsWanted(
            subscriber_instance=ledger.instance, log_id=ledger.command_log_id, offset=ledger.command_offset
        )
        return Send("command_handler", wanted)

    def _command(self, message: CommandReceived) -> Effect:
        command, problem = message.command, ""
        if command.clear is None:
            problem = "this version knows no such command"
        elif not self._settings.editable:
            problem = "this subscriber is not editable"
        elif command.log_id and command.log_id != self._ledger.log_id:
            problem = "it is meant for another package log"
        elif not bookkeeping.heard(self._ledger, message.log_id, message.offset):
            publisher, offset = command.publisher, command.clear.offset
            self._changes.append(lambda ledger: bookkeeping.clearing(ledger, publisher, offset))
        self._changes.append(lambda ledger: bookkeeping.commanded(ledger, message.log_id, message.offset))
        self._timers.discard("retry")  # any command wakes a package that waits for its next try
        return note(
            "command.refused" if problem else "command.accepted",
            command=command.command_id,
            author=command.author,
            reason=problem or command.reason,
        )

    # Going on: what the state allows, whatever the input was.

    def _go_on(self, now: Moment) -> Iterator[Effect]:
        if not self._busy:
            yield from self._use_repository(now)
        if self._ready and (wish := self._backlog.wish()) is not None:
            yield Send("package_poller", wish)
        if self._ledger.outbox and not self._mailed:
            self._mailed = True
            yield Send("bookkeeper", StatusesPending(statuses=self._ledger.outbox))
        yield from self._answer()
        if self._opened and not self._stopping:
            if self._dirty and not self._busy:
                yield from self._arm("settle", SETTLE_S)
            working = self._busy or self._backlog.head is not None
            if self._condition.observe(self._ledger, ready=self._ready, working=working, now=now):
                yield from self._arm("report", REPORT_S)

    def _use_repository(self, now: Moment) -> Iterator[Effect]:
        if self._opened and self._changes:
            for change in self._changes:
                self._ledger = change(self._ledger)
            self._changes.clear()
            self._dirty = True
            yield from self._arm("report", REPORT_S)
        if self._stopping:
            yield from self._stop(now)
        elif self._ready and not self._condition.repository:
            yield from self._process(now)

    def _process(self, now: Moment) -> Iterator[Effect]:
        while not self._busy and (record := self._backlog.head) is not None:
            full = len(self._ledger.outbox) >= self._settings.outbox_max
            self._condition.statuses = f"{len(self._ledger.outbox)} statuses wait for the log" if full else ""
            if full or "retry" in self._timers:
                return
            yield from self._arm("report", REPORT_S)
            yield from self._step(record, now)

    def _step(self, record: Record, now: Moment) -> Iterator[Effect]:
        """Pass over the record at the head, or begin to import it, or fail at it. Headers decide where they can."""
        publisher = record.header("publisher")
        if publisher and not self._settings.follows_publisher(publisher):
            yield from self._pass(bookkeeping.skipped(self._ledger, record.offset))
            return
        message: PackageMessage | None = None
        problem: CallboardError | None = None
        try:
            message = open_record(record, PackageMessage)
            publisher = message.publisher
        except (Undecodable, SchemaTooNew) as error:
            problem = error
        if message and (message.kind is Kind.TEST or not self._settings.follows_publisher(publisher)):
            yield from self._pass(bookkeeping.skipped(self._ledger, record.offset))
        elif record.offset <= bookkeeping.watermark(self._ledger, publisher):
            yield from self._pass(self._finished(self._ledger, record.offset, message, Status.REMOVED, now))
        elif message is None:
            assert problem is not None
            yield from self._unusable(record.offset, None, problem, now)
        else:
            self._publishers.add(publisher)
            yield from self._attempt(record.offset, message, now)

    def _pass(self, ledger: Ledger) -> Iterator[Effect]:
        self._ledger, self._dirty = ledger, True
        self._advance()
        self._passed += 1
        if self._passed % SKIPS_PER_SAVE == 0:
            yield self._save(durable=True)

    def _advance(self) -> None:
        self._backlog.pop()
        self._condition.recover()
        self._tries = 0

    def _finished(
        self, ledger: Ledger, offset: int, message: PackageMessage | None, status: Status, now: Moment
    ) -> Ledger:
        publish = self._settings.editable or status is Status.REMOVED_FAILED
        return bookkeeping.finished(ledger, offset, message, status, publish=publish, now_ns=now.wall_ns)

    # Importing one package, and failing at it.

    def _attempt(self, offset: int, message: PackageMessage, now: Moment) -> Iterator[Effect]:
        tried = self._ledger.attempts if self._ledger.attempt_offset == offset else 0
        if self._exhausted(tried):  # the last attempt killed the importer
            reason = self._ledger.last_error or f"the importer died in attempt {tried}"
            yield from self._give_up(offset, message, reason, now)
            return
        attempt = bookkeeping.attempting(self._ledger, offset)
        after = self._finished(attempt, offset, message, Status.IMPORTED, now)
        yield self._begin(ImportPackage(message, offset, attempt, after))

    def _exhausted(self, attempts: int) -> bool:
        return 0 <= self._settings.max_retries < attempts

    def _import_failed(self, effect: ImportPackage, error: CallboardError, now: Moment) -> Iterator[Effect]:
        self._dirty = True
        counts = not isinstance(error, RepositoryError | BlobUnavailable | PackageError | SchemaTooNew)
        change = bookkeeping.failed if counts else bookkeeping.not_counted
        self._ledger = change(effect.attempt, str(error))
        if isinstance(error, RepositoryError):
            yield from self._cannot_write(error)
        elif isinstance(error, PackageError | SchemaTooNew):
            yield from self._unusable(effect.offset, effect.message, error, now)
        elif self._exhausted(self._ledger.attempts):
            yield from self._give_up(effect.offset, effect.message, str(error), now)
        else:
            yield from self._retry_later(effect.offset, error, now, hopeless=False)

    def _unusable(
        self, offset: int, message: PackageMessage | None, error: CallboardError, now: Moment
    ) -> Iterator[Effect]:
        """The bytes are wrong: nothing is skipped unless the policy says so, and only a repair or an order helps."""
        if self._settings.on_undecodable == "dead_letter":
            yield from self._give_up(offset, message, str(error), now)
        else:
            yield from self._retry_later(offset, error, now, hopeless=True)

    def _retry_later(self, offset: int, error: CallboardError, now: Moment, *, hopeless: bool) -> Iterator[Effect]:
        self._tries += 1
        delay_s = self._settings.retry.delay_s(self._tries, self._rng)
        self._condition.fail(str(error), hopeless=hopeless, next_try_ns=now.wall_ns + int(delay_s * 1e9))
        yield note("import.failed", level="warning", offset=offset, tries=self._tries, retry_in_s=round(delay_s, 1),
                   reason=str(error))
        yield from self._arm("retry", delay_s)

    def _give_up(
        self, offset: int, message: PackageMessage | None, reason: str, now: Moment
    ) -> Iterator[Effect]:
        ledger = bookkeeping.failed(self._ledger, reason)
        self._ledger = self._finished(ledger, offset, message, Status.REMOVED_FAILED, now)
        self._advance()
        yield note("import.given_up", level="error", offset=offset, reason=reason)
        yield self._save(durable=True)

    # Telling.

    def _answer(self) -> Iterator[Effect]:
        waiting, self._targets = self._targets, []
        for target, origin in waiting:
            if self._backlog.reached >= target:
                yield Reply(origin, self._report())
            else:
                self._targets.append((target, origin))

    def _report(self) -> Report:
        return announcement.report(
            self._settings, self._ledger, self._condition, tries=self._tries, publishers=self._publishers
        )

    def _arm(self, key: str, seconds: float) -> Iterator[Effect]:
        if key not in self._timers:
            self._timers.add(key)
            yield After(key, seconds)

    def _stop(self, now: Moment) -> Iterator[Effect]:
        if self._opened and self._dirty and not self._condition.repository:
            yield self._save(durable=True)
            return
        if self._opened:
            self._condition.enter(State.STOPPED, "", now)
            yield Send("announcer", self._report())
        yield Stopped()
