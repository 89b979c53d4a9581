"""Queues as views on the log: questions to a publisher agent, and the messages between its actors. Never on the log."""

from dataclasses import dataclass

from callboard.messages.distribution.topic_messages import Kind
from callboard.messages.event import Event
from callboard.messages.question import Question


@dataclass(frozen=True, slots=True, kw_only=True)
class PackageSummary(Event):
    """A package without its content; ``length`` is the bytes that a subscriber fetches, blobs included.

    ``problem`` is set if the record cannot be decoded. ``recipients`` are as in ``PackageMessage``.
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
    """The range was delivered as far as it exists; ``first`` is the oldest retained offset.

    ``problem`` is set when it could not be read.
    """

    log_id: str
    start: int
    stop: int
    first: int
    problem: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueSize(Event):
    """The number of packages after an offset, their bytes (``PackageSummary.length``), and when the oldest was
    appended. With a ``subscriber``, packages addressed to others are left out.
    Counting runs from the newest package to the oldest. Until it is done, the figures cover what is counted so far; the
    first ``uncounted`` offsets after ``after`` are missing, and each may hold a package.
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

    With a ``subscriber``, packages addressed to others are left out.
    With ``end``, the end of the topic when the question is asked, the answer briefly waits until everything below it
    is known. The wait is bounded, because some offsets may have no package.
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
    """The sizes of many queues, each given by publisher, ``after`` and subscriber; for ``end`` see ``QueueQuery``."""

    queues: tuple[QueueSize, ...]
    end: int = 0
