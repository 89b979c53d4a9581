"""What a subscriber must remember: written by its repository in the transaction that changes the content."""

from dataclasses import dataclass

from callboard.messages.distribution import PackageStatusMessage
from callboard.messages.event import Event


@dataclass(frozen=True, slots=True, kw_only=True)
class Watermark(Event):
    """Everything of ``publisher`` up to and including ``offset`` is cleared."""

    publisher: str
    offset: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Ledger(Event):
    """One subscriber's memory.

    ``offset`` is the last processed offset of the package log ``log_id``, and -1 before the first.
    ``attempts`` counts the tries at ``attempt_offset``; it is stored before each try, so that a package
    that kills its importer is counted too. ``outbox`` holds the statuses not yet known to be on the log.
    """

    instance: str
    subscriber: str = ""
    log_id: str = ""
    positioned: bool = False
    offset: int = -1
    attempt_offset: int = -1
    attempts: int = 0
    last_error: str = ""
    clears: tuple[Watermark, ...] = ()
    command_log_id: str = ""
    command_offset: int = -1
    cleared: int = 0
    imported: int = 0
    next_sequence: int = 1
    outbox: tuple[PackageStatusMessage, ...] = ()
