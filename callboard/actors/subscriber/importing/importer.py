"""The importer: brings the repository forward along the log, package by package.

This file has what each input changes; ``steps`` has what is done next.
"""

from collections.abc import Iterable, Iterator
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
    Stopping,
    Tick,
    note,
)
from callboard.actors.core.effects import FindBounds, ReadLog
from callboard.actors.subscriber import roles
from callboard.actors.subscriber.effects import (
    CarryResults,
    ForwardCommand,
    ImportPackages,
    OpenRepository,
    RunHook,
    SaveLedger,
    SurveyRepository,
    SurveySite,
)
from callboard.actors.subscriber.importing import steps
from callboard.actors.subscriber.importing.next_package import RETRY
from callboard.actors.subscriber.importing.parts import Parts
from callboard.actors.subscriber.importing.steps import LOOK, LOOK_S, REPORT, SETTLE
from callboard.actors.subscriber.ledger import ledger_changes
from callboard.actors.subscriber.ledger.ledger_state import Decided
from callboard.actors.subscriber.quarantine.retry_held import HeldRetry
from callboard.actors.subscriber.settings import SubscriberSettings
from callboard.actors.subscriber.site.site import CARRY, SURVEY
from callboard.actors.subscriber.startup.startup import OPEN, Startup
from callboard.content.survey import Survey
from callboard.errors import LeaderReplaced, RepositoryError
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
    ReportQuery,
    StatusesSent,
    Verdicts,
)
from callboard.messages.distribution.topic_messages import State
from callboard.telemetry.traceparent import trace_of

FORWARD = "forward"
FORWARD_S = 1.0
"""Between attempts of a relay to forward a command to its site."""


class Importer:
    """Imports packages in the order of the log, except those in ``quarantine``. ``startup`` has how it begins.

    Receives: Admitted (announcer), PackagesRead / PackagesUnavailable (package_poller), CommandReceived /
        CommandPassedOver / CommandsRead / CommandsBlocked (command_handler), StatusesSent (status_sender), Verdicts
        (golden_watcher), CaughtUpQuery / ReportQuery (gateway).
    Sends: Report, LogMessage (announcer), PackagesWanted (package_poller), CommandsWanted (command_handler),
        StatusesPending (status_sender), VerdictsWanted (golden_watcher), AgentProblem (gateway); Report and Settled to
        the asker.
    Stores: the ledger, in the repository: with each batch of packages in one transaction, and before each attempt.
    Timers: "open" the repository again, "look" up the log's bounds again, "retry" a package, ask a "gate" again, retry
        a held package ("retrial"), "report", "settle", call a "hook" again, report a "slow" import; of a relay also
        "survey" its site, "carry" results, "forward" a command.
    Gives up: on a package after ``max_retries + 1`` failures: it becomes REMOVED_FAILED, or HELD together with later
        packages that touch its paths, and the queue moves on; with ``on_give_up = "block"`` the queue stays. On a
        post-import hook after ``hooks.max_retries + 1`` failures: HOOK_FAILED. On everything if the repository cannot
        be opened at the start, or was replaced by another one after an error.
    """

    def __init__(self, settings: SubscriberSettings, rng: Random) -> None:
        self._parts = Parts(settings, rng)

    def receive(self, message: Input, origin: Origin, now: Moment) -> Iterable[Effect]:
        """Handle one input, then take the steps that the new state allows."""
        return self._parts.state.follow(self._decide(message, origin, now))

    def _decide(self, message: Input, origin: Origin, now: Moment) -> Iterator[Decided]:
        it = self._parts
        it.now = now
        match message:
            case Started():
                yield OpenRepository()
            case Done() | Failed():
                yield from _ended(it, message)
            case Tick(key):
                it.timers.discard(key)
                yield from _tick(it, key)
            case PeerUp(role):
                yield from _greet(it, role)
            case Stopping():
                it.stopping = True
            case CaughtUpQuery():
                it.caught_up.ask(origin)
            case ReportQuery():
                yield Reply(origin, it.report())
            case _:
                yield from _hear(it, message)
        it.startup.lapse(now)  # before anything else is done
        yield from steps.take(steps.STEPS, it)


def _hear(it: Parts, message: Input) -> Iterator[Decided]:
    """Take in mail of a peer."""
    match message:
        case Admitted(until_ms=until_ms):
            it.startup.admit(until_ms)
        case PackagesRead():
            it.backlog.read(message)
        case PackagesUnavailable() if it.backlog.expects(message.start):
            it.backlog.unreadable = message.reason
            if message.obstacle is not Obstacle.UNAVAILABLE:
                it.startup.look_again()
                it.backlog.reading = False
        case CommandsRead() | CommandsBlocked() if it.inbox.listening:
            yield from it.inbox.hear(message)
        case CommandReceived() | CommandPassedOver() if it.inbox.listening:
            yield from it.inbox.hear(message)
            if it.startup.known and not it.startup.open and not it.state.busy:
                yield OpenRepository()  # any command is a reason to try again
        case Verdicts() if it.golden is not None:
            it.golden.hear(message)
        case StatusesSent(sequence=sequence):
            yield from it.mail.sent(sequence)


def _tick(it: Parts, key: str) -> Iterator[Decided]:
    if key == RETRY:
        it.head.wake()
    elif key == OPEN and not it.state.busy and not it.startup.open:
        yield OpenRepository()
    elif key == FORWARD:
        it.commands.rests = False
    elif it.site is not None and key in (SURVEY, CARRY):
        it.site.rested(key)
    elif key == REPORT:
        yield Send(roles.ANNOUNCER, it.report())
    elif key == SETTLE and it.startup.open and it.state.dirty and not it.state.busy:
        yield it.state.save(durable=False)


def _greet(it: Parts, role: str) -> Iterator[Decided]:
    """A peer has (re)started: tell it what its predecessor knew."""
    if role == roles.ANNOUNCER and it.introduced:
        yield Send(roles.ANNOUNCER, it.report())
    elif role == roles.COMMAND_HANDLER and it.inbox.listening:
        yield from it.inbox.listen(it.state.ledger)
    elif role == roles.GOLDEN_WATCHER and it.golden is not None:
        it.golden.forget_wish()
    elif role == roles.STATUS_SENDER:
        it.mail.forget()
    elif role == roles.PACKAGE_POLLER:
        it.backlog.forget_wish()


def _ended(it: Parts, outcome: Done | Failed) -> Iterator[Decided]:
    """An effect succeeded or failed."""
    match outcome:
        case Done(FindBounds(), bounds):
            it.looking = False
            it.backlog.unreadable = ""
            it.caught_up.found(bounds.end)
            it.progress.end_is(bounds.end)
            it.inbox.found(bounds.end)
            if it.startup.wants_bounds and not it.state.busy:
                yield from it.startup.place(bounds)
        case Failed(FindBounds(), error):
            it.looking = False
            it.caught_up.not_found()
            it.inbox.not_found()
            it.backlog.unreadable = ledger_changes.text(error)
            yield from it.arm(LOOK, LOOK_S)
        case Done(ReadLog(owner=Startup.OWNER)) | Failed(ReadLog(owner=Startup.OWNER)):
            yield from it.startup.compared(outcome)
            if isinstance(outcome, Failed):
                it.backlog.unreadable = ledger_changes.text(outcome.error)
                yield from it.arm(LOOK, LOOK_S)
        case Done(ReadLog(owner=HeldRetry.OWNER)) | Failed(ReadLog(owner=HeldRetry.OWNER)):
            yield from it.held.read(outcome, it.now)
        case Done(ReadLog()) | Failed(ReadLog()):
            it.given_up.read(outcome, it.state.ledger)
        case Done(SurveySite() | CarryResults()) | Failed(SurveySite() | CarryResults()) if it.site is not None:
            yield from it.site.ended(outcome, it.now)
        case Done(RunHook()) | Failed(RunHook()):
            yield from it.hooks.ended(outcome, it.now)
            yield from it.failures.tell(outcome, it.state.ledger)
        case _:
            it.state.ended()
            yield from _repository_answered(it, outcome)


def _repository_answered(it: Parts, outcome: Done | Failed) -> Iterator[Decided]:
    """The outcome of the one effect that uses the repository."""
    match outcome:
        case Done(OpenRepository(), stored):
            yield from _opened(it, stored)
        case Done(SaveLedger(ledger)):
            it.state.holds(ledger)
            it.startup.written()
        case Done(ImportPackages(packages, offsets, traces) as attempt, Ledger() as ledger):
            it.progress.succeed(it.now)
            it.state.holds(ledger)
            it.startup.written()
            (it.held if attempt.owner == HeldRetry.OWNER else it.head).move_on()
            first, last, trace = packages[0].package_id, offsets[-1], trace_of(traces[0])
            yield note("package.imported", offset=offsets[0], package=first, packages=len(offsets), last=last, **trace)
        case Failed(ImportPackages() as attempt, error):
            it.progress.end()
            yield from it.failures.tell(outcome, it.state.ledger)
            tried = it.held if attempt.owner == HeldRetry.OWNER else it.head
            yield from tried.failed(attempt, error, it.now)
            if isinstance(error, RepositoryError | LeaderReplaced):
                it.state.doubt(attempt)
                it.startup.open = False
                yield OpenRepository()
        case Done(SurveyRepository() as effect, Survey() as found) | Failed(SurveyRepository() as effect, found):
            it.commands.surveyed(effect, found)
        case Done(ForwardCommand() as effect, str() as refusal):
            it.commands.forwarded(effect, refusal)
        case Failed(ForwardCommand(), error):
            it.commands.rests = True
            yield note("command.not_forwarded", "warning", reason=ledger_changes.text(error))
            yield After(FORWARD, FORWARD_S)
        case Failed(_, error):
            yield from it.startup.failed(error)


def _opened(it: Parts, stored: Ledger | None) -> Iterator[Decided]:
    before, first = it.state.ledger.offset, not it.startup.known
    yield from it.startup.opened(stored)
    if first:
        it.enter(State.STARTING, it.starting)
    elif it.state.ledger.offset > before:
        it.head.move_on()
