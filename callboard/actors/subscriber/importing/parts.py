"""The parts of an importer, each of which keeps its own state."""

from collections.abc import Iterator
from dataclasses import replace
from random import Random

from callboard.actors.core.decision import After, Moment
from callboard.actors.subscriber.commands.execution import CommandExecution
from callboard.actors.subscriber.commands.inbox import CommandInbox
from callboard.actors.subscriber.commands.predecessors import not_in_force
from callboard.actors.subscriber.gates.pacing import paused
from callboard.actors.subscriber.hooks.hooks_due import HooksDue
from callboard.actors.subscriber.importing.backlog import Backlog
from callboard.actors.subscriber.importing.caught_up_waiters import CaughtUpWaiters
from callboard.actors.subscriber.importing.next_package import NextPackage
from callboard.actors.subscriber.importing.progress import Progress
from callboard.actors.subscriber.ledger.ledger_state import LedgerState
from callboard.actors.subscriber.quarantine.retry_given_up import GivenUpRetry
from callboard.actors.subscriber.quarantine.retry_held import HeldRetry
from callboard.actors.subscriber.reporting import announcement
from callboard.actors.subscriber.reporting.condition import Condition
from callboard.actors.subscriber.reporting.failure_log import FailureLog
from callboard.actors.subscriber.reporting.status_mail import StatusMail
from callboard.actors.subscriber.settings import SubscriberSettings
from callboard.actors.subscriber.site.site import Site
from callboard.actors.subscriber.staging.golden_gate import GoldenGate
from callboard.actors.subscriber.startup.startup import Startup
from callboard.messages.distribution.mailbox import Report
from callboard.messages.distribution.topic_messages import State


class Parts:
    """The parts of one importer, and the little state that belongs to none of them."""

    def __init__(self, settings: SubscriberSettings, rng: Random) -> None:
        self.settings = settings
        state = self.state = LedgerState()
        self.startup = Startup(settings, rng, state)
        self.backlog = Backlog(settings.fetch_records, settings.fetch_bytes)
        self.caught_up = CaughtUpWaiters()
        self.golden = GoldenGate(settings.golden, settings.name) if settings.golden else None
        self.head = NextPackage(settings, rng, state, self.backlog, self.golden)
        gates = [gate for gate in self.head.gates if gate is not self.golden]  # its verdict came before the hold
        self.held = HeldRetry(settings, rng, state, gates)
        self.given_up = GivenUpRetry(settings)
        self.inbox = CommandInbox()
        self.commands = CommandExecution(settings, state, self.inbox, self.startup, self.head, self.held, self.given_up)
        self.hooks = HooksDue(settings, rng, state)
        self.progress = Progress()
        self.failures = FailureLog(settings)
        self.mail = StatusMail()
        self.site = Site(settings, state) if settings.site else None
        self.condition = Condition()
        self.now = Moment(0, 0.0)
        """When the current input arrived."""
        self.timers: set[str] = set()
        """Running timers among those that are started only once."""
        self.introduced = self.looking = self.stopping = False
        """Whether the announcer was introduced, and whether the bounds of the package log are being looked up."""
        self.reported, self.surveyed = state.ledger, self.site and self.site.report
        """The ledger, and the survey of a relay's site, as last reported to the announcer."""

    @property
    def starting(self) -> str:
        """What must be done before the first import."""
        if not self.startup.admitted:
            return "waits for its name"
        if not self.backlog.reading:
            return "looks for its position in the log"
        return "" if self.inbox.complete else "reads the commands given so far"

    @property
    def obstacles(self) -> Iterator[tuple[State, str]]:
        """Possible obstacles, and for a present one its reason in words; the first with a reason counts."""
        yield State.GAP, self.startup.gap
        yield State.WAITING, self.startup.trouble or self.backlog.unreadable or self.head.full
        yield State.STARTING, self.starting
        if (gate := self.head.gate) is not None:
            yield gate.state, gate.reason
        yield State.PAUSED, paused(self.state.ledger)
        yield self.head.failure.kind, self.head.failure.described(self.state.ledger.attempts)

    def enter(self, state: State, reason: str) -> bool:
        """Enter this state; return whether it is new. The condition changes nowhere else."""
        before, self.condition = self.condition, self.condition.entering(state, reason, self.now)
        return self.condition is not before

    def observe(self) -> bool:
        """Enter the state that follows from the obstacles; return whether it is new."""
        going_on = (State.IDLE if self.backlog.head is None else State.IMPORTING), ""
        state, reason = next(((state, text) for state, text in self.obstacles if text), going_on)
        texts = (reason, self.progress.slow(self.now), self.inbox.problem, not_in_force(self.state.ledger))
        return self.enter(state, "; ".join(text for text in texts if text))

    def report(self) -> Report:
        """The subscriber's report of itself."""
        self.reported, self.surveyed, head = self.state.ledger, self.site and self.site.report, self.head
        told = replace(self.reported, command_offset=self.state.commands_up_to)
        message = announcement.report(self.settings, told, self.condition, head.failure, head.tries, head.publishers)
        found = self.progress.add_to(message, self.backlog)
        return self.site.add_to(found) if self.site is not None else found

    def arm(self, key: str, seconds: float) -> Iterator[After]:
        """Start the timer unless it is running."""
        if key not in self.timers:
            self.timers.add(key)
            yield After(key, seconds)
