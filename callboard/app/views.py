"""What a board answers: plain frozen data, ready to be shown or turned into JSON."""

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Package:
    """A package on the log."""

    id: str
    offset: int
    kind: str
    publisher: str
    paths: tuple[str, ...]
    length: int
    entries: int = 0


@dataclass(frozen=True, slots=True)
class QueuedPackage:
    """A package in a queue. ``age_s`` is how long ago it was appended; ``problem`` says why it cannot be decoded."""

    offset: int
    id: str
    kind: str
    publisher: str
    paths: tuple[str, ...]
    length: int
    age_s: float
    user: str = ""
    problem: str = ""


@dataclass(frozen=True, slots=True)
class QueueView:
    """The packages that a subscriber has not processed: how many, how old the oldest, and one page of them."""

    subscriber: str
    publisher: str
    size: int
    length: int
    oldest_s: float
    packages: tuple[QueuedPackage, ...]


@dataclass(frozen=True, slots=True)
class SubscriberStatus:
    """Who has what, who has not, and why not.

    ``lag_packages`` and ``lag_s`` are the size and the age of the queue; -1 when they cannot be told. ``offset`` is the
    last processed one. ``seen_s`` is how long ago it was last heard of, ``next_try_s`` in how long it tries again.
    """

    name: str
    liveness: str
    state: str
    reason: str
    offset: int
    lag_packages: int
    lag_s: float
    attempts: int
    last_error: str
    next_try_s: float
    seen_s: float
    since_s: float
    errors: int
    imported: int
    cleared: int
    editable: bool
    max_retries: int
    follows: tuple[str, ...]
    repository: str
    instance: str
    host: str
    pid: int
    version: str


@dataclass(frozen=True, slots=True)
class BoardStatus:
    """The whole board at one moment."""

    subscribers: tuple[SubscriberStatus, ...]
    publishers: tuple[str, ...]
    problem: str = ""


@dataclass(frozen=True, slots=True)
class FailedPackage:
    """A package in an error queue."""

    subscriber: str
    publisher: str
    offset: int
    id: str
    attempts: int
    reason: str
    age_s: float


@dataclass(frozen=True, slots=True)
class ErrorsView:
    """One page of error queues, and how many packages are in them altogether."""

    size: int
    errors: tuple[FailedPackage, ...]


@dataclass(frozen=True, slots=True)
class Cleared:
    """What became of a clear command. ``packages`` is -1 while the subscriber has not obeyed it yet."""

    command_id: str
    subscriber: str
    publisher: str
    up_to: int
    packages: int


PATHS_SHOWN = 5
"""Of a package, in a line for people."""


def shortened(paths: tuple[str, ...]) -> str:
    """Some of the paths, and how many more there are, in a line."""
    more = len(paths) - PATHS_SHOWN
    return " ".join(paths[:PATHS_SHOWN]) + (f" and {more} more" if more > 0 else "")


def to_data(view: Any) -> Any:
    """The view as dictionaries and lists, for JSON."""
    return asdict(view)
