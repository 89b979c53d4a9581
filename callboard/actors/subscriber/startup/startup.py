"""How an importer begins to read: the repository is opened, the name granted, the position found and stored."""

from collections.abc import Iterator
from random import Random

from callboard.actors.core.agent import GATEWAY
from callboard.actors.core.backoff import Backoff
from callboard.actors.core.decision import After, Done, Failed, Moment, Send, note
from callboard.actors.core.effects import ReadLog, TopicBounds
from callboard.actors.subscriber.ledger import ledger_changes
from callboard.actors.subscriber.ledger.ledger_state import Decided, LedgerState, Write
from callboard.actors.subscriber.settings import SubscriberSettings
from callboard.actors.subscriber.startup import gap
from callboard.errors import (
    CallboardError,
    ConfigError,
    RepositoryBusy,
    RepositoryError,
    RepositoryOccupied,
    SchemaTooNew,
)
from callboard.messages.distribution.ledger import Ledger
from callboard.messages.distribution.mailbox import AgentProblem, Problem

FIRST_TRIES = 10
"""For a repository that was never open: the importer's predecessor may take a moment to release it."""
FIRST_AGAIN_S = 0.3
STANDBY_S = 1.0
"""Between attempts to open a repository that another process holds, when standing by."""
AGAIN = Backoff(first_s=0.5, max_s=30.0)
"""Between attempts to reopen a repository that failed while in use."""

OPEN = "open"
"""The timer for these."""


class Startup:
    """The conditions for asking for the first package, restored whenever one is lost."""

    OWNER = "startup"

    def __init__(self, settings: SubscriberSettings, rng: Random, state: LedgerState) -> None:
        self._settings = settings
        self._rng = rng
        self._state = state
        self._failures = 0
        self.known = False
        """Whether the ledger is known: the repository was open at least once."""
        self.open = False
        """Whether the repository can be used."""
        self.admitted = False
        """Whether the announcer was granted the subscriber's name."""
        self._bounds: TopicBounds | None = None  # of the log, while the record at the position is being read
        self.trouble = ""
        """Why the repository cannot be opened or written."""
        self.gap = ""
        """Why the position does not fit the log."""
        self.placed = False
        """Whether the position was compared with the log; if it changed, that is in the state."""

    @property
    def complete(self) -> bool:
        """Whether packages can be asked for, once what is urgent is stored."""
        return self.open and self.admitted and self.placed

    @property
    def found(self) -> bool:
        """Whether the position was compared with the log, even if it does not fit."""
        return self.open and self.admitted and (self.placed or bool(self.gap))

    # The name.

    def admit(self, until_ms: int) -> None:
        """The name is ours until this moment of the monotonic clock; 0 means without end."""
        self.admitted, self._state.permit.until_ms = True, until_ms

    def lapse(self, now: Moment) -> None:
        """Release the name when its time is over. An importer that was suspended finds out here, before anything
        else, that another instance may have the name by now.
        """
        if self._state.permit.is_over(now.mono_s):
            self.admitted = False

    # The repository.

    def opened(self, stored: Ledger | None) -> Iterator[Decided]:
        """The repository is open. Again, after an error: the ledger says whether the transaction was committed."""
        state = self._state
        self.open = True
        if not self.known:
            self.known = True
            self.written()
            instance = f"{self._rng.getrandbits(128):032x}"
            state.adopt(stored, ledger_changes.adopt(stored, self._settings.name, instance))
        elif not state.learn(stored):
            self.open = False
            which = self._settings.shown_repository or f"of {self._settings.name}"
            reason = (
                f"repository {which} was emptied, replaced or set back while in use; restore it, or restart the "
                "subscriber to begin with what it holds now"
            )
            yield Send(GATEWAY, AgentProblem(problem=Problem.REPOSITORY_UNAVAILABLE, reason=reason))

    def written(self) -> None:
        """The repository was written: any earlier problem with it is over."""
        self._failures = 0
        self.trouble = ""

    def failed(self, error: CallboardError) -> Iterator[Decided]:
        """The repository could not be opened, or written: wait, then (re)open it."""
        self.open = False
        self._failures += 1
        if not self.known and self._settings.standby and isinstance(error, RepositoryBusy):
            self.trouble = f"stands by: {ledger_changes.text(error)}"
            yield After(OPEN, STANDBY_S)
        elif not self.known and (self._failures >= FIRST_TRIES or not _may_pass(error)):
            yield Send(GATEWAY, AgentProblem(problem=_problem(error), reason=ledger_changes.text(error)))
        elif not self.known:
            yield After(OPEN, FIRST_AGAIN_S)
        else:
            self.trouble = ledger_changes.text(error)
            level = "error" if self._failures == 1 else "debug"
            yield note("repository.failed", level, reason=ledger_changes.text(error), failures=self._failures)
            yield After(OPEN, AGAIN.delay_s(self._failures, self._rng))

    # The position.

    @property
    def wants_bounds(self) -> bool:
        """Whether the bounds of the log are needed next."""
        wanted = self.open and self.admitted and not self.placed and not self.gap
        return wanted and self._bounds is None

    def place(self, bounds: TopicBounds) -> Iterator[Decided]:
        """Set the position in a log with these bounds, or keep it, or say why it does not fit. Before it is kept, the
        record there is compared with the one that was processed.
        """
        ledger = self._state.ledger
        problem = gap.find(ledger, bounds) if ledger.positioned else ""
        if ledger.positioned and not problem and ledger.record_id and ledger.offset >= bounds.first:
            self._bounds = bounds
            yield ReadLog(self._settings.topics.package, ledger.offset, max_records=1, owner=self.OWNER)
            return
        yield from self._settle(problem, bounds)

    def compared(self, outcome: Done | Failed) -> Iterator[Decided]:
        """The log has returned the record at the position, or failed; then its bounds are checked again."""
        bounds, self._bounds = self._bounds, None
        if self._state.busy:
            return
        if isinstance(outcome, Done) and bounds is not None and outcome.result.log_id == bounds.log_id:
            records = outcome.result.records
            yield from self._settle(gap.other_copy(self._state.ledger, next(iter(records), None)), bounds)

    def _settle(self, problem: str, bounds: TopicBounds) -> Iterator[Decided]:
        ledger = self._state.ledger
        start = gap.start(self._settings, ledger, bounds, problem)
        if start is None:
            self.gap = problem
            yield note("gap.found", "error", reason=problem)
            return
        if problem or not ledger.positioned:
            yield Write(ledger_changes.positioned(ledger, bounds.log_id, start - 1), urgent=True)
            yield note("position.taken", start=start, reason=problem or "first start")
        self.placed = True

    def look_again(self) -> None:
        """The log lacks what comes next, or may have it again: check the bounds."""
        self.placed, self.gap = False, ""


_PROBLEMS: tuple[tuple[type[CallboardError], Problem], ...] = (
    (RepositoryBusy, Problem.REPOSITORY_BUSY),
    (RepositoryOccupied, Problem.REPOSITORY_OCCUPIED),
    (SchemaTooNew, Problem.SCHEMA_TOO_NEW),
    (ConfigError, Problem.MISCONFIGURED),
    (CallboardError, Problem.REPOSITORY_UNAVAILABLE),
)


def _may_pass(error: CallboardError) -> bool:
    """Whether the next attempt may get the repository."""
    return isinstance(error, RepositoryError) and not isinstance(error, RepositoryOccupied)


def _problem(error: CallboardError) -> Problem:
    return next(problem for kind, problem in _PROBLEMS if isinstance(error, kind))
