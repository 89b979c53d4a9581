"""The messages on the log's topics.

Field numbers up to 31 are those of Apache Sling's 2019 schema, so its bytes can be read.
"""

from bisect import bisect_left
from dataclasses import dataclass
from enum import IntEnum
from types import UnionType
from typing import get_args, get_type_hints

from callboard.messages.event import Event

Pairs = tuple[tuple[str, str], ...]


class Kind(IntEnum):
    """What a package asks of a subscriber."""

    ADD = 0
    DELETE = 1
    TEST = 2
    INVALIDATE = 32


class Status(IntEnum):
    """The outcome of a package at one subscriber."""

    REMOVED_FAILED = 0
    REMOVED = 1
    IMPORTED = 2
    SUPERSEDED = 32
    SKIPPED = 33
    HELD = 34
    HOOK_FAILED = 35
    HOOK_SETTLED = 36


class State(IntEnum):
    """What a subscriber says it is doing."""

    STARTING = 0
    IDLE = 1
    IMPORTING = 2
    RETRYING = 3
    BLOCKED = 4
    GAP = 5
    WAITING = 6
    STOPPED = 7
    PAUSED = 8
    STAGED = 9
    THROTTLED = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class PackageMessage(Event):
    """Topic ``package``: one distribution request as shipped.

    A non-empty package is either inline (``content``) or in the blob store (``content_ref``, a digest).
    Only the original's seeding messages, of kind TEST, have no publisher. ``recipients`` names the intended
    subscribers; none means all. ``total_bytes`` is ``length`` plus the sizes of the ``blobs``; 0 from a publisher that
    did not count them. ``source`` names what was shipped, such as ``web1:/srv/site``; empty if unknown.
    """

    publisher_instance: str
    publisher: str = ""
    package_id: str
    kind: Kind
    length: int = 0
    content: bytes = b""
    paths: tuple[str, ...] = ()
    deep_paths: tuple[str, ...] = ()
    content_ref: str = ""
    format: str = "callboard"
    user: str = ""
    metadata: Pairs = ()
    request_id: str = ""
    content_digest: str = ""
    entries: int = 0
    blobs: tuple[str, ...] = ()
    recipients: tuple[str, ...] = ()
    total_bytes: int = 0

    @property
    def fetched_bytes(self) -> int:
        """The bytes that a subscriber fetches, as far as is known: the package and its blobs."""
        here = len(self.content) or self.length  # content at hand beats the claim
        return max(here, self.total_bytes) if self.blobs else here

    source: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PackageStatusMessage(Event):
    """Topic ``status``: the outcome of the package at ``offset``.

    IMPORTED, SUPERSEDED and REMOVED come from editable subscribers only, the others from any. The highest ``sequence``
    wins: a package that was given up or held may later be imported, skipped or removed. HOOK_SETTLED revokes
    HOOK_FAILED: the hook was called again and succeeded, or an operator dismissed it.
    """

    subscriber_instance: str
    subscriber: str
    publisher: str
    offset: int
    status: Status
    reason: str = ""
    attempts: int = 0
    package_id: str = ""
    sequence: int = 0
    time_ns: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SubscriberState(Event):
    """A subscriber's position for one publisher: ``offset`` is the last processed one, -1 for none."""

    publisher: str
    offset: int
    retries: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SubscriberConfiguration(Event):
    """A subscriber's configuration; ``max_retries`` below zero means no limit."""

    editable: bool
    max_retries: int
    follows: tuple[str, ...] = ()
    repository: str = ""
    golden: str = ""
    on_give_up: str = ""
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()


BOUNDS_S = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0, 3600.0, 21_600.0, 86_400.0)
"""Upper bounds of a histogram's buckets, from a small file to a day behind. Part of the schema: they never change."""

SUM_MAX = 2**63 - 1
"""The largest integer that a message can hold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Histogram(Event):
    """Durations: ``counts`` has one bucket for each of ``BOUNDS_S``, its inclusive upper bound, and a last one for all
    that are longer; buckets missing at the end are 0. ``sum_us`` is in microseconds.
    """

    counts: tuple[int, ...] = ()
    sum_us: int = 0

    def with_one(self, seconds: float) -> "Histogram":
        """The histogram with this duration added."""
        bucket, seconds = bisect_left(BOUNDS_S, seconds), max(seconds, 0.0)
        counts = list(self.counts) + [0] * (bucket + 1 - len(self.counts))
        counts[bucket] += 1
        return Histogram(counts=tuple(counts), sum_us=min(self.sum_us + round(seconds * 1e6), SUM_MAX))


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteSubscriber(Event):
    """A subscriber of a site, as its relay tells of it. Offsets are of the log that the relay reads.

    ``name`` begins with the names of further relays before it, as ``site/edge-7``. ``state`` is its liveness if it is
    not live. ``packages`` is the size of its queue, -1 if not known, and ``oldest_ns`` when the first was appended.
    """

    name: str
    state: str
    reason: str = ""
    offset: int = -1
    packages: int = -1
    oldest_ns: int = 0
    attempts: int = 0
    errors: int = 0
    needs: bool = False
    editable: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class StateCount(Event):
    """How many subscribers are in a state."""

    state: str
    subscribers: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteReport(Event):
    """What a relay tells of the subscribers of its site. Offsets are of the log that the relay reads.

    ``logs`` are the ids of all package logs at and behind the site. ``relayed`` is the last package that the relay has
    processed, ``offset`` the last one that all subscribers have that others wait for; the first one after it was
    appended at ``oldest_ns``, 0 if nothing is lacking. ``subscribers``, ``counts``, ``needs`` and ``errors`` include
    those behind further relays. ``worst`` are the few that need an operator or are furthest behind. All of them read
    packages of up to ``package_version``.
    """

    log_id: str
    place: str = ""
    logs: tuple[str, ...] = ()
    relayed: int = -1
    offset: int = -1
    oldest_ns: int = 0
    subscribers: int = 0
    counts: tuple[StateCount, ...] = ()
    needs: int = 0
    errors: int = 0
    worst: tuple[SiteSubscriber, ...] = ()
    time_ns: int = 0
    problem: str = ""
    package_version: int = 1


ANNOUNCE_S_MAX = 300.0
"""The longest interval between announcements. With a longer one, a dead subscriber would count as live for a quarter of
an hour, so a longer claim is not believed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscoveryMessage(Event):
    """Topic ``discovery``: what a subscriber announces about itself, on change and every ten seconds, less
    often in a large fleet.

    ``offset`` is the last processed offset of the package topic whose identity is ``log_id``;
    ``since_ns`` is when the state began and ``next_try_ns`` when a retry is due, both by the
    subscriber's clock, as is ``time_ns``. ``head_offset`` is the package being imported or waited for, -1 for none, and
    ``import_started_ns`` when that import began. ``hooks`` counts the post-import hooks still due. ``held_offset`` is
    the lowest of the ``held`` packages: the log must keep it, for it will be imported from there. ``place``
    differs between two copies of one repository, which have the same instance. ``hook_offset``, ``hook_attempts`` and
    ``hook_error`` describe the first due hook that has failed. ``left`` are the newest packages up to ``offset`` that
    were given up, are held, or wait for their hook. ``imports`` are the durations of successful imports since the
    subscriber started, ``latencies`` the durations from a package's append to its import, by two hosts' clocks.
    ``lease_ms`` is the length of the lease on the name; 0 from older versions, which have no leases. ``takes_over`` is
    the offset of the former holder's last announcement, watched for a whole lease, or -1 if the name was free.
    ``term`` is the offset of the announcement that won the name, -1 until the subscriber knows that it has won.
    ``package_version`` is the newest version of the package format that it reads.
    A relay is a subscriber with a ``site``; its ``offset`` is the last package that the whole site has processed.
    """

    subscriber_instance: str
    subscriber: str
    states: tuple[SubscriberState, ...] = ()
    configuration: SubscriberConfiguration
    state: State = State.STARTING
    reason: str = ""
    offset: int = -1
    log_id: str = ""
    attempts: int = 0
    last_error: str = ""
    since_ns: int = 0
    next_try_ns: int = 0
    time_ns: int = 0
    host: str = ""
    pid: int = 0
    version: str = ""
    command_offset: int = -1
    cleared: int = 0
    imported: int = 0
    announce_interval_ms: int = 10_000
    held: int = 0
    superseded: int = 0
    skipped: int = 0
    ready: bool = False
    ready_reason: str = ""
    head_offset: int = -1
    head_package: str = ""
    import_started_ns: int = 0
    throttle_per_min: int = 0
    hooks: int = 0
    held_offset: int = -1
    place: str = ""
    hook_offset: int = -1
    hook_attempts: int = 0
    hook_error: str = ""
    left: tuple[int, ...] = ()
    imports: Histogram | None = None
    latencies: Histogram | None = None
    lease_ms: int = 0
    takes_over: int = -1
    term: int = -1
    package_version: int = 1
    site: SiteReport | None = None

    @property
    def own_offset(self) -> int:
        """The last package that the subscriber itself has processed, also if it is a relay and speaks for a site."""
        return self.site.relayed if self.site is not None else self.offset

    @property
    def announce_interval_s(self) -> float:
        """The announcement interval in seconds, within plausible bounds."""
        return min(max(self.announce_interval_ms / 1000, 0.0), ANNOUNCE_S_MAX)


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgottenMessage(Event):
    """Topic ``discovery``: this subscriber is gone for good; nothing waits for it. Its next announcement undoes it."""

    subscriber: str
    author: str = ""
    reason: str = ""
    time_ns: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ThrottledMessage(Event):
    """Topic ``discovery``: requests to this publisher are delayed by the ``backlog`` (packages) of the subscriber,
    since ``since_ns`` by the publisher's clock. ``waiting`` requests are delayed now, the first for ``delay_ms`` more.
    A message without a subscriber ends it, and so does a long silence.
    """

    publisher: str
    publisher_instance: str
    subscriber: str = ""
    backlog: int = 0
    waiting: int = 0
    delay_ms: int = 0
    since_ns: int = 0
    time_ns: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchivedTopic(Event):
    """All records of the topic below ``next`` are archived."""

    topic: str
    next: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchivedMessage(Event):
    """Topic ``discovery``: how far the archive at ``place`` is. By default only archived records are removed."""

    topics: tuple[ArchivedTopic, ...] = ()
    place: str = ""
    time_ns: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ClearCommand(Event):
    """Treat every package up to and including ``offset`` as done without importing it."""

    offset: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryCommand(Event):
    """Retry the package at ``offset`` now: at the head (-1 means the package there), held, or given up.

    ``without_golden`` lets a staged subscriber import it without the golden subscriber's verdict.
    """

    offset: int = -1
    without_golden: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SkipCommand(Event):
    """Skip the one package at ``offset``: at the head or held (SKIPPED), or given up before (REMOVED)."""

    offset: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PauseCommand(Event):
    """Import nothing until ``ResumeCommand``; survives restarts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResumeCommand(Event):
    """Undo ``PauseCommand``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ThrottleCommand(Event):
    """Import at most ``packages_per_min`` packages a minute; 0 lifts the limit. Survives restarts."""

    packages_per_min: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyCommand(Event):
    """Report what the repository holds at these paths (none means all), as a digest and a listing."""

    paths: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandMessage(Event):
    """Topic ``command``: a command to one subscriber, with its author and reason. Exactly one kind of command is set.

    It is for the repository with the id ``subscriber_instance``, which was at ``position`` when the author last heard
    of it. A pause or limit without an instance is for the first to come. ``publisher`` scopes it to one
    publisher's packages; ``log_id`` is the package log that offset and position belong to, and the command is void on
    any other. ``issued_ns`` is by the author's clock. ``key_id`` and ``signature`` are neither set nor trusted: older
    versions signed the message, and now the record is signed.
    """

    subscriber_instance: str
    subscriber: str
    clear: ClearCommand | None = None
    publisher: str = ""
    command_id: str = ""
    author: str = ""
    reason: str = ""
    log_id: str = ""
    retry: RetryCommand | None = None
    skip: SkipCommand | None = None
    pause: PauseCommand | None = None
    resume: ResumeCommand | None = None
    throttle: ThrottleCommand | None = None
    verify: VerifyCommand | None = None
    key_id: str = ""
    signature: bytes = b""
    issued_ns: int = 0
    position: int = -1

    @property
    def kinds(self) -> dict[str, Event]:
        """The commands that are set and known to this version, by name; unless it is exactly one, it is rejected."""
        return {name: command for name in COMMANDS if (command := getattr(self, name)) is not None}


COMMANDS: dict[str, type[Event]] = {
    name: get_args(kind)[0]
    for name, kind in get_type_hints(CommandMessage).items()
    if isinstance(kind, UnionType) and issubclass(get_args(kind)[0], Event)
}
"""Every kind of command by its name: the fields of ``CommandMessage`` that may be None."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandResultMessage(Event):
    """Topic ``status``: the result of a command, sent once the subscriber has stored it.

    ``packages`` counts those removed, skipped or released; ``offset`` is the subscriber's position at that moment.
    ``digest`` and ``listing_ref`` (a blob) answer ``VerifyCommand``. Results and statuses share one ``sequence``.
    """

    subscriber_instance: str
    subscriber: str
    command_id: str
    command_offset: int
    accepted: bool
    packages: int = 0
    reason: str = ""
    offset: int = -1
    digest: str = ""
    listing_ref: str = ""
    sequence: int = 0
    time_ns: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class PingMessage(Event):
    """Shows only that the log can be written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogMessage(Event):
    """Topic ``discovery``: a line for the publisher's log, such as the error of a failed import."""

    publisher: str
    subscriber_instance: str
    subscriber: str
    message: str
    stacktrace: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PackageDistributedMessage(Event):
    """Topic ``event``, as JSON: every live subscriber has processed this package."""

    publisher: str
    package_id: str
    deep_paths: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    offset: int
