"""What a board answers: plain frozen data, ready to be shown or turned into JSON."""

from dataclasses import asdict, dataclass
from typing import Any, Literal

QueueState = Literal["idle", "running", "blocked"]
"""Whether a queue moves: it is empty; it does; or its head cannot be imported, or failed again and again."""

FailureStatus = Literal["given_up", "held", "hook_failed"]
"""What became of a package that a subscriber did not finish: left out, set aside, or imported but for its hook."""


@dataclass(frozen=True, slots=True)
class Package:
    """A package on the log, or, with the ``state`` ``dropped``, none: there was nothing to ship, as ``reason`` says.

    ``length`` is how many bytes a subscriber has to fetch, blobs included. ``throttled_s`` is how many seconds the
    request was held up by the backlog of the subscriber ``throttled_by``. ``expects`` are recipients that nobody has
    heard of yet. ``note`` says what the log may have forgotten of a request that was made under an id.
    """

    id: str
    offset: int
    kind: str
    publisher: str
    paths: tuple[str, ...]
    length: int
    entries: int = 0
    state: Literal["accepted", "dropped"] = "accepted"
    reason: str = ""
    throttled_s: float = 0.0
    throttled_by: str = ""
    expects: tuple[str, ...] = ()
    note: str = ""


@dataclass(frozen=True, slots=True)
class QueuedPackage:
    """A package in a queue. ``age_s`` is how long ago it was appended; ``problem`` says why it cannot be decoded; and
    ``length`` is how many bytes the subscriber has to fetch, blobs included.

    ``entry`` finds it again, see ``Callboard.queue_entry``, which has all the paths: here are the first, some thousand
    characters of them. Only the head of the queue can have ``attempts``, and the ``error`` of the last one.
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
    """A command that can be typed, and what it does."""

    command: str
    does: str


@dataclass(frozen=True, slots=True)
class Trouble:
    """Why somebody does not move or what was left behind, in words, and what can be done about it.

    ``needs`` says that it does not end by itself: somebody has to do something.
    """

    what: str
    remedies: tuple[Remedy, ...] = ()
    needs: bool = True


@dataclass(frozen=True, slots=True)
class QueueView:
    """The packages for a subscriber that it has not processed: how many, how old the oldest, and one page of them.

    While a long queue is counted, ``uncounted`` offsets are still to be looked at. ``troubles`` say why it stands.
    """

    subscriber: str
    publisher: str
    state: QueueState
    size: int
    length: int
    oldest_s: float
    packages: tuple[QueuedPackage, ...]
    uncounted: int = 0
    troubles: tuple[Trouble, ...] = ()


@dataclass(frozen=True, slots=True)
class SubscriberStatus:
    """Who has what, who has not, and why not.

    ``lag_packages``, ``lag_bytes`` and ``lag_s`` are the size and the age of the queue; -1 when they cannot be told.
    While a long queue is being counted they are what is counted of it by now, the age is -1, and its oldest
    ``uncounted`` offsets are still to be looked at.
    ``offset`` is the last processed one, ``head_offset`` the one being imported or waited for, -1 for none.
    ``seen_s`` is how long ago it was last heard of, ``next_try_s`` in how long it tries again, ``importing_s`` how
    long the import at the head takes by now. ``errors`` counts its error queue, the ``held`` ones and those with
    failed ``hooks`` included; ``errors_dropped`` further ones that memory has no room for. ``counts`` tells whether
    anybody waits for it. ``hooks_due`` counts the packages whose hook after the import has not succeeded yet; the first
    that failed is at ``hook_offset``, -1 for none. ``left`` are the newest offsets that it is past and that are not
    finished. ``needs`` tells whether somebody has to do something, and ``troubles`` why and what.
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


def shown_state(row: SubscriberStatus) -> str:
    """What it says it is, as long as it is heard of."""
    return row.state if row.liveness == "live" else row.liveness


@dataclass(frozen=True, slots=True)
class FarmQueue:
    """What a whole cohort of subscribers has not processed: the queue of its straggler.

    ``name`` is ``persisted`` (the slowest editable subscriber) or ``published`` (the slowest of all). ``members`` were
    compared. ``state`` is that of the straggler's queue, and ``uncounted`` as in ``SubscriberStatus``.
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
    """Requests are held up for ``since_s`` by now, because ``subscriber`` has ``backlog`` packages before it: at last
    word ``waiting`` of them, the first one for ``delay_s`` more.
    """

    subscriber: str
    since_s: float
    backlog: int
    waiting: int
    delay_s: float


@dataclass(frozen=True, slots=True)
class PublisherStatus:
    """A publisher with packages or subscribers. ``held_up`` if it is throttled, one for each process of this name.

    ``state`` is ``idle`` when every subscriber that counts has everything, ``blocked`` when the queue of one is, else
    ``running``. A farm queue is missing where nobody counts; ``left_out`` are those that do not: stopped or gone,
    a hundred at most. ``needs`` and ``troubles`` as in ``SubscriberStatus``.
    """

    name: str
    state: QueueState
    persisted: FarmQueue | None
    published: FarmQueue | None
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
class FailedPackage:
    """A package in an error queue; ``expired`` if the log has it no more, so that it cannot be tried again."""

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
class ErrorsView:
    """One page of error queues, and how many packages are in them altogether.

    ``dropped`` counts older failures that memory has no room for; their statuses are on the log.
    """

    size: int
    errors: tuple[FailedPackage, ...]
    dropped: int = 0


@dataclass(frozen=True, slots=True)
class CommandResult:
    """What an order came to.

    ``accepted`` is None, and ``packages`` -1, while the subscriber has not answered; the order stands. ``offset`` is
    what it is about, -1 for none; ``packages`` counts those that were removed, skipped or released. ``position`` is
    where the subscriber was then, and ``listing_ref`` the blob that lists what it had.
    """

    command_id: str
    order: str
    subscriber: str
    publisher: str
    offset: int
    accepted: bool | None
    packages: int
    reason: str
    position: int = -1
    listing_ref: str = ""


PATHS_SHOWN = 5
"""Of a package, in a line for people."""


def shortened(paths: tuple[str, ...]) -> str:
    """Some of the paths, and how many more there are, in a line."""
    more = len(paths) - PATHS_SHOWN
    return " ".join(paths[:PATHS_SHOWN]) + (f" and {more} more" if more > 0 else "")


def to_data(view: Any) -> Any:
    """The view as dictionaries and lists, for JSON."""
    return asdict(view)
