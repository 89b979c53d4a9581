"""Messages between the actors of one agent, and the service's questions to them. Never on the log."""

from dataclasses import dataclass
from enum import IntEnum

from callboard.messages.distribution.topic_messages import (
    CommandMessage,
    CommandResultMessage,
    DiscoveryMessage,
    Kind,
    PackageStatusMessage,
    Pairs,
)
from callboard.messages.event import Event
from callboard.messages.question import Question
from callboard.messages.record import Record

# Publisher: distributing.


@dataclass(frozen=True, slots=True, kw_only=True)
class DistributeResponse(Event):
    """``accepted`` means: on the log, at ``offset``. Otherwise ``reason`` says why not, and ``code`` for programs.

    ``retry`` means that the reason may pass, so the same request can be sent again. ``dropped`` means that there was
    nothing to ship, which is no error. ``throttled_ms`` is how long the request was delayed by the backlog of the
    subscriber ``throttled_by``.
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

    ``recipients`` are the intended subscribers; none means all. ``source_name`` goes into the package, ``traceparent``
    into its headers. ``gone_paths`` are the deep paths that ADD does not read but removes. That, and to ``compress``,
    needs version 2 of the package format.
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
    traceparent: str = ""
    gone_paths: tuple[str, ...] = ()
    compress: bool = False


# Subscriber.


@dataclass(frozen=True, slots=True, kw_only=True)
class PackagesWanted(Event):
    """Read the package topic from ``start`` and answer with ``PackagesRead``; replaces an earlier request."""

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
    """Why reading of the package topic cannot continue."""

    UNAVAILABLE = 0
    OUT_OF_RANGE = 1
    REPLACED = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class PackagesUnavailable(Event):
    """``PackagesWanted`` cannot be met (now): the obstacle, and the retained range as far as it is known."""

    start: int
    obstacle: Obstacle
    reason: str
    first: int = -1
    end: int = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandsWanted(Event):
    """Follow the command topic from after this position in this incarnation of it.

    ``time_ns`` is when the record at ``offset`` was appended, and reveals another copy of the topic; 0 if unknown.
    """

    subscriber_instance: str
    log_id: str
    offset: int
    time_ns: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandReceived(Event):
    """A command for this subscriber, at ``offset`` of the command topic. With ``distrust``, it can only be rejected."""

    log_id: str
    offset: int
    command: CommandMessage
    time_ns: int = 0
    distrust: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandPassedOver(Event):
    """The record at ``offset`` of the command topic ``log_id`` counts as done without being carried out: ``reason``.

    It was appended at ``time_ns``; 0 if there is none at that offset. ``set_back`` means that the topic had other
    records before, so the commands carried out at this and higher offsets are no longer there.
    """

    log_id: str
    offset: int
    reason: str
    set_back: bool = False
    time_ns: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandsRead(Event):
    """All commands read so far are passed on. ``void`` are in force for another repository of this name, not here."""

    void: tuple[CommandMessage, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandsBlocked(Event):
    """Reading of the command topic stops: the record at ``offset`` is unreadable, and is not skipped."""

    offset: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusesPending(Event):
    """Everything in the outbox, in the order of the sequence numbers; replaces what was pending before.

    ``last`` means that the importer has stopped, so nothing will follow.
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
    """Answer with ``Verdicts`` on the packages from ``offset`` on, now and at every change. Replaces an earlier
    request; verdicts below ``offset`` may be forgotten.
    """

    offset: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdicts(Event):
    """The golden subscriber's statuses of packages from ``offset`` on, by ascending offset; a limited number at once.

    ``golden`` is its last announcement, if any; ``problem`` says why the status topic cannot be read.
    """

    offset: int
    verdicts: tuple[PackageStatusMessage, ...] = ()
    golden: DiscoveryMessage | None = None
    problem: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unfinished(Event):
    """A package below the subscriber's position that is not finished: ``what`` is given_up, held, hook_due (the hook
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
    """The outcome: everything is processed (``reached``), or the announcement says what stands in the way."""

    announcement: DiscoveryMessage
    reached: bool = False
    unfinished: tuple[Unfinished, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Report(Event):
    """The importer's part of the announcement; the announcer adds the subscriber's identity and host.

    ``head_time_ns`` is when the package being imported was appended, 0 if there is none. ``caught_up`` means that
    everything on the log when reading began is processed.
    """

    announcement: DiscoveryMessage
    head_time_ns: int = 0
    caught_up: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Admitted(Event):
    """The subscriber holds its name until ``until_ms`` of the monotonic clock (0: for ever): start, or continue."""

    until_ms: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Ready(Event):
    """The subscriber may serve; ``reason`` is the condition that made it ready."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadyQuery(Question[Ready]):
    """Answer with ``Ready`` once the subscriber may serve."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnnouncedQuery(Question[Admitted]):
    """Announce, and answer with ``Admitted`` once the log says that everything up to ``offset`` is processed."""

    offset: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CaughtUpQuery(Question[Settled]):
    """Answer with ``Settled`` once every package on the log at the time of asking is processed, and its hook succeeded
    or ran out of tries; or as soon as the subscriber cannot continue.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportQuery(Question[Report]):
    """Answer with ``Report`` at once."""


class Problem(IntEnum):
    """Why an agent cannot continue."""

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
