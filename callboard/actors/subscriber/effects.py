"""What a subscriber's actors ask of its repository."""

from dataclasses import dataclass, field

from callboard.actors.core.decision import Perform
from callboard.messages.distribution.ledger import HookDue, Ledger
from callboard.messages.distribution.topic_messages import CommandMessage, PackageMessage
from callboard.messages.record import Record


@dataclass(frozen=True, slots=True)
class SurveyRepository(Perform):
    """Result ``Survey``: what the repository holds at and below the paths, for the command at ``command_offset``."""

    command_offset: int
    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class OpenRepository(Perform):
    """Result ``Ledger``, or None for a repository that was never written."""


@dataclass(frozen=True, slots=True)
class SaveLedger(Perform):
    """Result None. With ``durable=False`` it survives a crash of the process, but not a power failure."""

    ledger: Ledger
    durable: bool = True


@dataclass(slots=True)
class Permit:
    """Until which moment of the monotonic clock the subscriber's name is ours; 0 means without end. The importer
    extends it while an import is running.
    """

    until_ms: int = 0

    def is_over(self, mono_s: float) -> bool:
        """Whether that moment has passed."""
        return bool(self.until_ms) and mono_s * 1000 >= self.until_ms


@dataclass(frozen=True, slots=True)
class ImportPackages(Perform):
    """Result: the stored ``Ledger``. First ``attempt`` is stored; then, in one transaction, the packages are applied in
    order and ``ledger`` is stored, with the changes of their packages added to the hooks that are due.

    ``attempt`` comes first, so that a package that kills its importer is counted, too. Up to ``parallel``
    packages are fetched at the same time. ``traces`` has the header ``traceparent`` of each. The ``permit`` is checked
    last, just before the commit: if it is over, nothing is imported, and the error is ``NameLapsed``. A relay appends
    the ``records`` to the log of its site instead.
    """

    packages: tuple[PackageMessage, ...]
    offsets: tuple[int, ...]
    traces: tuple[str, ...]
    attempt: Ledger
    ledger: Ledger
    parallel: int = 1
    permit: Permit = field(default_factory=Permit, compare=False)
    records: tuple[Record, ...] = field(default=(), compare=False, repr=False)

    @property
    def offset(self) -> int:
        """The first package: the only one, unless several are imported together."""
        return self.offsets[0]

    @property
    def alone(self) -> bool:
        """Whether only one package is attempted, so that the attempt counts against it."""
        return self.attempt.attempt_offset == self.offset


@dataclass(frozen=True, slots=True)
class RunHook(Perform):
    """Result None: the post-import hook was called for this package; ``due.attempts`` is the number of the call."""

    due: HookDue


@dataclass(frozen=True, slots=True)
class SurveySite(Perform):
    """Result ``SiteReport``: how far the subscribers of the site are of a relay with this ledger."""

    ledger: Ledger


@dataclass(frozen=True, slots=True)
class ForwardCommand(Perform):
    """Result str: the command, received at ``offset``, was appended to the log of the relay's site, for the subscriber
    named after the site's name; or why that cannot be. Appended again, it takes effect once.
    """

    command: CommandMessage
    offset: int


@dataclass(frozen=True, slots=True)
class CarryResults(Perform):
    """Result ``ResultsCarried``: from ``start`` on, the results of forwarded commands were appended here, too. Without
    a start, or on another log, begins with the newest ones. Waits for a record at the end.
    """

    log_id: str = ""
    start: int = -1


@dataclass(frozen=True, slots=True)
class ResultsCarried:
    """Where to read on the site's status topic, whose identity is ``log_id``."""

    log_id: str
    next: int
