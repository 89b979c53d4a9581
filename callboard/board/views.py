"""The answers of a board: plain frozen data, ready to show or to turn into JSON."""

from dataclasses import dataclass
from typing import Literal

from callboard.board.page import Page
from callboard.board.site_status import SiteStatus

QueueState = Literal["idle", "running", "blocked"]
"""Whether a queue moves: it is empty; it does; or its head cannot be imported, or failed repeatedly."""

FailureStatus = Literal["given_up", "held", "hook_failed"]
"""Why a subscriber has not finished a package: left out, quarantined, or imported but for its hook."""


@dataclass(frozen=True, slots=True)
class Package:
    """A package on the log. If the ``state`` is ``dropped``, there is none: ``reason`` says why nothing was shipped. If
    it is ``unchanged``, nothing was shipped because nothing differs: the log has this tree since ``offset``.

    ``unchanged_files`` with ``unchanged_bytes`` were requested but left out, since the log has them; ``whole`` says why
    nothing was left out, if it was to be. ``removed`` counts the paths, with all below each, that were published before
    and are gone.
    ``length`` is how many bytes a subscriber fetches, blobs included. ``throttled_s`` is how many seconds the request
    was delayed by the backlog of the subscriber ``throttled_by``. ``expects`` are recipients that are not known yet.
    ``note`` says what the log may have lost of a request that was made under an id.
    """

    id: str
    offset: int
    kind: str
    publisher: str
    paths: tuple[str, ...]
    length: int
    entries: int = 0
    state: Literal["accepted", "dropped", "unchanged"] = "accepted"
    reason: str = ""
    throttled_s: float = 0.0
    throttled_by: str = ""
    expects: tuple[str, ...] = ()
    note: str = ""
    unchanged_files: int = 0
    unchanged_bytes: int = 0
    removed: int = 0
    whole: str = ""


@dataclass(frozen=True, slots=True)
class QueuedPackage:
    """A package in a queue. ``age_s`` is the time since it was appended; ``problem`` says why it cannot be decoded;
    ``length`` is how many bytes the subscriber fetches, blobs included.

    ``paths`` are the first, up to some thousand characters; pass ``entry`` to ``Callboard.queue_entry`` to get all.
    Only the head of the queue has ``attempts``, and the ``error`` of the last one.
    """

    entry: str
    topic: str
    offset: int
    time_ns: int
    id: str
    kind: str
    publisher: str
    paths: tuple[str, ...]
    length: int
    age_s: float
    deep_paths: tuple[str, ...] = ()
    user: str = ""
    problem: str = ""
    attempts: int = 0
    error: str = ""


@dataclass(frozen=True, slots=True)
class Remedy:
    """A command to type, and what it does."""

    command: str
    does: str


@dataclass(frozen=True, slots=True)
class Trouble:
    """Why a subscriber or publisher does not move, or what was left behind, in words, and what to do about it.

    ``needs``: it does not end by itself and needs an operator.
    """

    what: str
    remedies: tuple[Remedy, ...] = ()
    needs: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueView(Page[QueuedPackage]):
    """A page of the packages that a subscriber has not processed, and of its whole queue: the state, the bytes to fetch
    and the age of the oldest package. ``troubles`` say why it does not move.
    """

    subscriber: str
    publisher: str
    state: QueueState
    length: int
    oldest_s: float
    troubles: tuple[Trouble, ...] = ()


@dataclass(frozen=True, slots=True)
class SubscriberStatus:
    """The status of one subscriber.

    ``lag_packages``, ``lag_bytes`` and ``lag_s`` are the size and the age of the queue; -1 if unknown. While a long
    queue is being counted they hold the count so far, the age is -1, and its oldest ``uncounted`` offsets are still to
    be read. ``offset`` is the last processed one, ``head_offset`` the one being imported or waited for, -1 for none.
    ``seen_s`` is the time since it was last heard of, ``next_try_s`` the time until its next attempt, ``importing_s``
    the duration so far of the import at the head. ``errors`` counts its error queue, the quarantined (``held``)
    packages and those with failed ``hooks`` included; ``errors_dropped`` counts further ones that did not fit in
    memory. ``counts``: others wait for it. ``hooks_due`` counts the packages whose hook after the import has not
    succeeded yet; the first that failed is at ``hook_offset``, -1 for none. ``left`` are the newest offsets behind its
    position that are not finished. ``needs``: it needs an operator; ``troubles`` say why, and what to do. A relay has a
    ``site``; its ``offset`` and its queue are those of the slowest subscriber there.
    """

    name: str
    liveness: str
    state: str
    reason: str
    queue: QueueState
    offset: int
    lag_packages: int
    lag_bytes: int
    lag_s: float
    attempts: int
    last_error: str
    next_try_s: float
    seen_s: float
    since_s: float
    errors: int
    errors_dropped: int
    held: int
    hooks: int
    imported: int
    superseded: int
    skipped: int
    cleared: int
    ready: bool
    ready_reason: str
    head_offset: int
    head_package: str
    importing_s: float
    throttle_per_min: int
    editable: bool
    max_retries: int
    on_give_up: str
    golden: str
    follows: tuple[str, ...]
    counts: bool
    repository: str
    instance: str
    host: str
    pid: int
    version: str
    hooks_due: int = 0
    hook_offset: int = -1
    hook_attempts: int = 0
    hook_error: str = ""
    left: tuple[int, ...] = ()
    needs: bool = False
    troubles: tuple[Trouble, ...] = ()
    uncounted: int = 0
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    site: SiteStatus | None = None


def shown_state(row: SubscriberStatus) -> str:
    """Its announced state, while it is live; otherwise its liveness."""
    return row.state if row.liveness == "live" else row.liveness


@dataclass(frozen=True, slots=True)
class CohortQueue:
    """What a cohort of subscribers has not processed: the queue of its slowest member, the straggler.

    ``name`` is ``persisted`` (the slowest editable subscriber) or ``published`` (the slowest of all). ``members`` is
    the size of the cohort. ``state`` is that of the straggler's queue, and ``uncounted`` as in ``SubscriberStatus``.
    """

    name: str
    publisher: str
    size: int
    length: int
    oldest_s: float
    straggler: str
    offset: int
    state: QueueState
    attempts: int
    last_error: str
    members: int
    uncounted: int = 0


@dataclass(frozen=True, slots=True)
class HeldUp:
    """Requests have been delayed for ``since_s`` so far, because ``subscriber`` has a backlog of ``backlog`` packages.
    ``waiting`` requests were delayed when last announced, the first of them for another ``delay_s``.
    """

    subscriber: str
    since_s: float
    backlog: int
    waiting: int
    delay_s: float


@dataclass(frozen=True, slots=True)
class PublisherStatus:
    """A publisher with packages or subscribers. ``held_up``: it is throttled; one entry for each process of this name.

    ``state`` is ``idle`` if every subscriber that counts has everything, ``blocked`` if the queue of one is, else
    ``running``. A cohort without members has no queue; ``left_out`` names up to 100 that do not count, as they are
    stopped or gone. ``needs`` and ``troubles`` as in ``SubscriberStatus``.
    """

    name: str
    state: QueueState
    persisted: CohortQueue | None
    published: CohortQueue | None
    left_out: tuple[str, ...] = ()
    held_up: tuple[HeldUp, ...] = ()
    needs: bool = False
    troubles: tuple[Trouble, ...] = ()


@dataclass(frozen=True, slots=True)
class BoardStatus:
    """The whole board at one moment. ``notes`` say what is not in it, and why; ``problem`` what went wrong."""

    subscribers: tuple[SubscriberStatus, ...]
    publishers: tuple[PublisherStatus, ...]
    problem: str = ""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Readiness:
    """Whether a subscriber may serve, and the reason."""

    subscriber: str
    ready: bool
    reason: str


@dataclass(frozen=True, slots=True)
class FailedPackage:
    """A package in an error queue; ``expired``: the log no longer has it, so it cannot be retried."""

    subscriber: str
    publisher: str
    entry: str
    offset: int
    id: str
    status: FailureStatus
    attempts: int
    reason: str
    age_s: float
    expired: bool


@dataclass(frozen=True, slots=True)
class CommandResult:
    """The result of a command.

    ``accepted`` is None, and ``packages`` -1, until the subscriber answers; the command stands. ``offset`` is the
    package it is about, -1 for none; ``packages`` counts those removed, skipped or released. ``position`` is where the
    subscriber was then, and ``listing_ref`` the blob with the list of its content.
    """

    command_id: str
    command: str
    subscriber: str
    publisher: str
    offset: int
    accepted: bool | None
    packages: int
    reason: str
    position: int = -1
    listing_ref: str = ""


PATHS_SHOWN = 5
"""What a package does, in words."""


def shortened(paths: tuple[str, ...]) -> str:
    """Some of the paths, and how many more there are, in one line."""
    more = len(paths) - PATHS_SHOWN
    return " ".join(paths[:PATHS_SHOWN]) + (f" and {more} more" if more > 0 else "")
