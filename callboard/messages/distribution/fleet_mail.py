"""The fleet, its errors, and commands to it: questions to a publisher agent, and the answers. Never on the log."""

from dataclasses import dataclass
from enum import IntEnum

from callboard.messages.distribution.topic_messages import (
    CommandMessage,
    DiscoveryMessage,
    PackageStatusMessage,
    ThrottledMessage,
)
from callboard.messages.event import Event
from callboard.messages.question import Question


class Liveness(IntEnum):
    """Whether a subscriber still announces itself. One that does not is listed as such; it never just vanishes."""

    LIVE = 0
    SILENT = 1
    GONE = 2
    STOPPED = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Member(Event):
    """A subscriber and its last announcement, with the log's time of it as ``seen_ns``."""

    announcement: DiscoveryMessage
    liveness: Liveness
    seen_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetView(Event):
    """Every subscriber in the retained discovery records, by name.

    ``unread`` counts the oldest offsets of the topic, not read yet, and ``dropped`` the subscribers that did not fit
    in memory; if both are 0, the list is complete. ``throttled`` are the publishers whose requests are delayed.
    """

    members: tuple[Member, ...]
    unread: int = 0
    dropped: int = 0
    throttled: tuple[ThrottledMessage, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetQuery(Question[FleetView]):
    """Asks for every known subscriber."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorCount(Event):
    """The packages in an error queue: ``size`` in all, ``held`` in quarantine, ``hooks`` imported with a failed hook.

    ``dropped`` counts further, older failures that did not fit in memory.
    """

    subscriber: str
    publisher: str
    size: int
    held: int = 0
    hooks: int = 0
    dropped: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorsPage(Event):
    """The page, oldest first, and the sizes of all error queues that are not empty, by the statuses below the offset
    ``next`` of their topic; -1 if unknown.
    """

    errors: tuple[PackageStatusMessage, ...]
    counts: tuple[ErrorCount, ...]
    next: int = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorsQuery(Question[ErrorsPage]):
    """A page of the error queue of a subscriber; empty names mean all.

    It begins after the failure of ``after_subscriber`` at the offset ``after``.
    """

    subscriber: str = ""
    publisher: str = ""
    skip: int = 0
    limit: int = 100
    after: int = -1
    after_subscriber: str = ""


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
