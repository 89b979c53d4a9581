"""What the actors of one agent say to each other, and what the service asks them. Never on the log."""

from dataclasses import dataclass
from enum import IntEnum

from callboard.messages.distribution.topic_messages import (
    CommandMessage,
    CommandResultMessage,
    DiscoveryMessage,
    Kind,
    PackageStatusMessage,
    Pairs,
    ThrottledMessage,
)
from callboard.messages.event import Event
from callboard.messages.question import Question
from callboard.messages.record import Record

# Publisher: distributing.


@dataclass(frozen=True, slots=True, kw_only=True)
class DistributeResponse(Event):
    """``accepted`` means: on the log, at ``offset``. Otherwise ``reason`` says why not, and ``code`` to programs.

    ``retry`` says that the reason may pass, so that the same request can be sent again. ``dropped`` says that nothing
    was wrong, but there was nothing to ship. ``throttled_ms`` is how long the request was held up because of the
    backlog of the subscriber ``throttled_by``.
    """

    request_id: str
    accepted: bool
    package_id: str = ""
    offset: int = -1
    length: int = 0
    entries: int = 0
    reason: str = ""
    retry: bool = False
    dropped: bool = False
    throttled_ms: int = 0
    throttled_by: str = ""
    code: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DistributeRequest(Question[DistributeResponse]):
    """Ship these paths; only ADD needs a ``source``, the folder whose root is ``at`` at subscribers (``/`` if empty).

    ``recipients`` are the subscribers that it is for; none named means all. ``source_name`` goes into the package.
    """

    request_id: str
    kind: Kind
    paths: tuple[str, ...]
    deep_paths: tuple[str, ...] = ()
    source: str = ""
    user: str = ""
    metadata: Pairs = ()
    recipients: tuple[str, ...] = ()
    at: str = ""
    source_name: str = ""


# Publisher: queues as views on the log.


@dataclass(frozen=True, slots=True, kw_only=True)
class PackageSummary(Event):
    """A package without its content; ``length`` is what a subscriber has to fetch, its blobs included.

    ``problem`` says why the record cannot be decoded, if so. ``recipients`` are as in ``PackageMessage``.
    """

    offset: int
    time_ns: int
    publisher: str = ""
    kind: Kind = Kind.ADD
    package_id: str = ""
    length: int = 0
    paths: tuple[str, ...] = ()
    deep_paths: tuple[str, ...] = ()
    user: str = ""
    problem: str = ""
    recipients: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PackagesSeen(Event):
    """Every package of the topic with an offset in ``[start, stop)``, from the tail or from a range."""

    log_id: str
    start: int
    stop: int
    packages: tuple[PackageSummary, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RangeWanted(Event):
    """Read ``[start, stop)`` from the log and answer with ``PackagesSeen``, in pieces, then ``RangeDone``."""

    log_id: str
    start: int
    stop: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RangeDone(Event):
    """The range was delivered as far as it exists; ``first`` is the oldest offset the log still has.

    ``problem`` is set when it could not be read.
    """

    log_id: str
    start: int
    stop: int
    first: int
    problem: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueSize(Event):
    """How many packages lie after an offset, how many bytes they have (``PackageSummary.length``), and when the oldest
    was appended. With a ``subscriber``, packages that are addressed to others are left out.
    While it is being counted, from the newest to the oldest, all this is about what is counted; the first ``uncounted``
    offsets after ``after`` are not, and each may hold a package.
    """

    publisher: str
    after: int
    size: int = 0
    length: int = 0
    oldest_ns: int = 0
    newest: int = -1
    uncounted: int = 0
    subscriber: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueuePage(Event):
    """The queue's size and the packages of the page. ``problem`` is set when it could not be read."""

    queue: QueueSize
    packages: tuple[PackageSummary, ...] = ()
    problem: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueQuery(Question[QueuePage]):
    """A page of the queue of a subscriber that has processed everything up to ``after``; no publisher means all.

    With a ``subscriber``, packages that are addressed to others are left out.
    With the ``end`` of the topic at the moment of asking, the answer waits for what comes before it to be known, if
    only for a moment: there may be offsets without a package.
    """

    after: int
    publisher: str = ""
    skip: int = 0
    limit: int = 100
    end: int = 0
    subscriber: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes(Event):
    """The answers, in the order of the questions, and the publishers that have packages in the log ``log_id``."""

    queues: tuple[QueueSize, ...]
    publishers: tuple[str, ...] = ()
    problem: str = ""
    log_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SizesQuery(Question[Sizes]):
    """The sizes of many queues at once, asked for by publisher, ``after`` and subscriber; ``end``: ``QueueQuery``."""

    queues: tuple[QueueSize, ...]
    end: int = 0


# Publisher: the fleet, its errors, and orders to it.


class Liveness(IntEnum):
    """Whether a subscriber is heard of: never simply vanished."""

    LIVE = 0
    SILENT = 1
    GONE = 2
    STOPPED = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Member(Event):
    """A subscriber as last heard of, ``seen_ns`` being the log's time of that announcement."""

    announcement: DiscoveryMessage
    liveness: Liveness
    seen_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetView(Event):
    """Every subscriber ever heard of in the retained discovery records, by name.

    ``unread`` is how many offsets of the topic were not looked at yet, the oldest ones, and ``dropped`` how many
    subscribers memory had no room for: where both are 0, nobody is missing. ``throttled`` are the publishers whose
    requests are held up.
    """

    members: tuple[Member, ...]
    unread: int = 0
    dropped: int = 0
    throttled: tuple[ThrottledMessage, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetQuery(Question[FleetView]):
    """Who is there?"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorCount(Event):
    """How many packages are in an error queue, and how many of them are ``held`` or imported but for their ``hooks``.

    ``dropped`` counts further failures, older ones, that memory had no room for.
    """

    subscriber: str
    publisher: str
    size: int
    held: int = 0
    hooks: int = 0
    dropped: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorsPage(Event):
    """The page, oldest first, and the sizes of all error queues that are not empty."""

    errors: tuple[PackageStatusMessage, ...]
    counts: tuple[ErrorCount, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorsQuery(Question[ErrorsPage]):
    """A page of the error queue of a subscriber; empty names mean all."""

    subscriber: str = ""
    publisher: str = ""
    skip: int = 0
    limit: int = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandSent(Event):
    """The command is on the log at ``offset``, or ``problem`` says why not."""

    command_id: str
    offset: int = -1
    problem: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandRequest(Question[CommandSent]):
    """Put this command on the log; its ``command_id`` makes retries harmless."""

    command: CommandMessage


# Subscriber.


@dataclass(frozen=True, slots=True, kw_only=True)
class PackagesWanted(Event):
    """Read the package topic from ``start`` and answer with ``PackagesRead``; replaces an earlier wish."""

    log_id: str
    start: int
    max_records: int
    max_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PackagesRead(Event):
    """Every record in ``[start, next)``."""

    log_id: str
    start: int
    next: int
    records: tuple[Record, ...]


class Obstacle(IntEnum):
    """Why the package topic cannot be read on."""

    UNAVAILABLE = 0
    OUT_OF_RANGE = 1
    REPLACED = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class PackagesUnavailable(Event):
    """The wish cannot be met (now): what is in the way, and the retained range as far as it is known."""

    start: int
    obstacle: Obstacle
    reason: str
    first: int = -1
    end: int = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandsWanted(Event):
    """Follow the command topic from after this position of this incarnation of it.

    ``time_ns`` is when the record at ``offset`` was appended, by which another copy of the topic is told; 0 if unknown.
    """

    subscriber_instance: str
    log_id: str
    offset: int
    time_ns: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandReceived(Event):
    """A command for this subscriber, at ``offset`` of the command topic; with ``distrust``, why it is only answered."""

    log_id: str
    offset: int
    command: CommandMessage
    time_ns: int = 0
    distrust: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandPassedOver(Event):
    """The record at ``offset`` of the command topic ``log_id`` counts as obeyed without being so, for this reason.

    It was appended at ``time_ns``; 0 if there is none at that offset. ``set_back`` says that the topic had other
    records before, so what was obeyed at this offset, or at higher ones, is not there any more.
    """

    log_id: str
    offset: int
    reason: str
    set_back: bool = False
    time_ns: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandsRead(Event):
    """Every command there was is passed on. ``void`` are in force for another repository of this name, and not here."""

    void: tuple[CommandMessage, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandsBlocked(Event):
    """The command topic cannot be read on: the record at ``offset`` is not understood, and is not skipped."""

    offset: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusesPending(Event):
    """Everything in the outbox, in the order of the sequence numbers; replaces what was pending before.

    ``last`` says that the importer has stopped and nothing will follow.
    """

    statuses: tuple[PackageStatusMessage, ...]
    last: bool = False
    results: tuple[CommandResultMessage, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusesSent(Event):
    """Statuses up to and including this sequence number are on the log."""

    sequence: int


@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictsWanted(Event):
    """Answer with ``Verdicts`` on the packages from ``offset`` on, now and whenever there are others; replaces an
    earlier wish, and what lies below ``offset`` may be forgotten.
    """

    offset: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdicts(Event):
    """What the golden subscriber told of packages from ``offset`` on, by ascending offset; only so many at once.

    ``golden`` is its last announcement, if it was heard of; ``problem`` says why the status topic cannot be read.
    """

    offset: int
    verdicts: tuple[PackageStatusMessage, ...] = ()
    golden: DiscoveryMessage | None = None
    problem: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unfinished(Event):
    """A package that the subscriber is past, and that is not finished: ``what`` is given_up, held, hook_due (the hook
    has not succeeded yet) or hook_failed.
    """

    what: str
    offset: int
    publisher: str = ""
    package_id: str = ""
    attempts: int = 0
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled(Event):
    """How it ended: everything is processed (``reached``), or the announcement says what stands in the way."""

    announcement: DiscoveryMessage
    reached: bool = False
    unfinished: tuple[Unfinished, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Report(Event):
    """What the importer knows, for the announcer to announce; the announcer adds who and where it runs.

    ``head_time_ns`` is when the package that is being imported was appended, 0 if there is none. ``caught_up`` says
    that everything is processed that was on the log when the reading began.
    """

    announcement: DiscoveryMessage
    head_time_ns: int = 0
    caught_up: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Admitted(Event):
    """The name is ours up to ``until_ms`` of the monotonic clock, 0 being without end: start, or go on."""

    until_ms: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Ready(Event):
    """The subscriber may serve, and ``reason`` is which condition made it so."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadyQuery(Question[Ready]):
    """Answer with ``Ready`` once the subscriber may serve."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnnouncedQuery(Question[Admitted]):
    """Announce, and answer with ``Admitted`` once it is on the log that everything up to ``offset`` is processed."""

    offset: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CaughtUpQuery(Question[Settled]):
    """Answer with ``Settled`` once every package on the log at the time of asking is processed, and its hook was called
    as often as there is hope; or as soon as the subscriber cannot go on.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportQuery(Question[Report]):
    """Answer with ``Report`` at once."""


class Problem(IntEnum):
    """Why an agent cannot go on."""

    SUBSCRIBER_TAKEN = 0
    REPOSITORY_BUSY = 1
    SCHEMA_TOO_NEW = 2
    ACTOR_FAILED = 3
    REPOSITORY_UNAVAILABLE = 4
    REPOSITORY_OCCUPIED = 5
    MISCONFIGURED = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentProblem(Event):
    """To the role ``gateway``: the agent must be stopped, for this reason."""

    problem: Problem
    reason: str
