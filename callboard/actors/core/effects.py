"""The I/O that an actor can ask for, as data. ``world.py`` carries it out through the backends' contracts."""

from dataclasses import dataclass, field

from callboard.actors.core.decision import Perform
from callboard.actors.core.shortening_limits import ShorteningLimits
from callboard.messages.distribution.ledger import HookDue, Ledger
from callboard.messages.distribution.mailbox import DistributeRequest
from callboard.messages.distribution.topic_messages import PackageMessage
from callboard.messages.record import NewRecord, Record
from callboard.messages.topics import Topics


@dataclass(frozen=True, slots=True)
class FindBounds(Perform):
    """Result ``TopicBounds``: where the topic begins and ends, and its identity."""

    topic: str


@dataclass(frozen=True, slots=True)
class TopicBounds:
    """The retained range ``[first, end)`` of the topic incarnation ``log_id``."""

    log_id: str
    first: int
    end: int


@dataclass(frozen=True, slots=True)
class ReadLog(Perform):
    """Result ``LogRead``; at the end of the topic, waits up to ``wait_s`` seconds for more."""

    topic: str
    start: int
    max_records: int = 500
    max_bytes: int = 4 << 20
    wait_s: float = 0.0


@dataclass(frozen=True, slots=True)
class LogRead:
    """The records found, and ``next``, where to read on. Every record in ``[start, next)`` is included."""

    log_id: str
    records: tuple[Record, ...]
    next: int


@dataclass(frozen=True, slots=True)
class Append(Perform):
    """Result: the tuple of offsets."""

    topic: str
    records: tuple[NewRecord, ...]


@dataclass(frozen=True, slots=True)
class EnsureTopic(Perform):
    """Result None: the topic exists."""

    topic: str


@dataclass(frozen=True, slots=True)
class TrimTopic(Perform):
    """Result None. Records below the offset were removed, if the log can do this, and the topic is still ``log_id``."""

    topic: str
    log_id: str
    below: int


@dataclass(frozen=True, slots=True)
class BuildPackage(Perform):
    """Result ``PackageMessage`` without identity (publisher, id): content, digest, paths, blobs stored."""

    request: DistributeRequest


@dataclass(frozen=True, slots=True)
class CollectBlobs(Perform):
    """Result ``BlobCollection``: blobs that no record of these topics refers to are removed after the grace period."""

    package: str
    status: str
    grace_s: float
    now_ns: int


@dataclass(frozen=True, slots=True)
class ShortenTopics(Perform):
    """Result ``Shortened``: removes records no longer needed from the topics of discovery, statuses and commands."""

    topics: Topics
    limits: ShorteningLimits
    now_ns: int


@dataclass(frozen=True, slots=True)
class Shortened:
    """How many records were removed from each topic; ``problem`` says why more could not be."""

    removed: dict[str, int] = field(default_factory=dict)
    problem: str = ""


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
    packages are fetched at the same time. The ``permit`` is checked last, just before the commit: if it is over,
    nothing is imported, and the error is ``NameLapsed``.
    """

    packages: tuple[PackageMessage, ...]
    offsets: tuple[int, ...]
    attempt: Ledger
    ledger: Ledger
    parallel: int = 1
    permit: Permit = field(default_factory=Permit, compare=False)

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
