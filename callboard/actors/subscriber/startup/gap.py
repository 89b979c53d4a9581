"""Where a subscriber reads on, and whether it can: a gap is a position that no longer fits the log."""

from callboard.actors.core.effects import TopicBounds
from callboard.actors.subscriber.importing.received import stored_id
from callboard.actors.subscriber.settings import SubscriberSettings
from callboard.messages.distribution.ledger import Ledger
from callboard.messages.record import Record


def first_start(settings: SubscriberSettings, bounds: TopicBounds) -> int:
    """The offset at which a subscriber without a position begins, kept inside the retained range."""
    if settings.start == "earliest":
        return bounds.first
    if settings.start == "latest":
        return bounds.end
    return min(max(settings.start, bounds.first), bounds.end)


def start(settings: SubscriberSettings, ledger: Ledger, bounds: TopicBounds, problem: str) -> int | None:
    """The offset to read from. None in a gap with ``on_gap = "fail"``: the subscriber reports it and waits until the
    log has its packages again, or the setting is changed.
    """
    if problem:
        return None if settings.on_gap == "fail" else bounds.first
    return ledger.offset + 1 if ledger.positioned else first_start(settings, bounds)


def other_copy(ledger: Ledger, found: Record | None) -> str:
    """Why the record at the stored position is not the one that was processed; empty if it is. A log that lost its end
    and then grew has the same identity, and may have passed the position again.
    """
    if found is not None and found.offset == ledger.offset and ledger.record_id in _ids(found):
        return ""
    what = "is not the one that" if found is not None and found.offset == ledger.offset else "is missing that"
    return (
        f"the record at offset {ledger.offset} {what} was processed here: the log was replaced by an older or other "
        'copy; restore the right one, or start with on_gap = "earliest" to import what this one holds'
    )


def _ids(found: Record) -> tuple[str, str]:
    """What a ledger stores of this record; older versions stored the id alone."""
    return stored_id(found, found.header("id")), found.header("id")


def find(ledger: Ledger, bounds: TopicBounds) -> str:
    """Why the stored position does not fit this log and what to do about it; empty if it fits."""
    go_on = 'start with on_gap = "earliest" to continue without them, or reseed the subscriber'
    if ledger.log_id != bounds.log_id:
        return (
            f"the package log was replaced: offset {ledger.offset} belongs to log {ledger.log_id[:8]}, this one is "
            f'{bounds.log_id[:8]}; restore the log, or start with on_gap = "earliest" to import what this one holds'
        )
    if ledger.offset + 1 < bounds.first:
        return (
            f"packages {ledger.offset + 1} to {bounds.first - 1} were trimmed from the log before they were "
            f"imported; {go_on}"
        )
    if ledger.offset + 1 > bounds.end:
        return (
            f"offset {ledger.offset} is past the end of the log ({bounds.end}): the log was replaced by an older copy; "
            f"restore the newer one, or {go_on}"
        )
    return ""
