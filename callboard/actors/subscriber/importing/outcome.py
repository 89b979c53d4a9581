"""The outcome of one package, and how it changes the ledger."""

from typing import NamedTuple

from callboard.actors.subscriber.hooks import hooks_due
from callboard.actors.subscriber.importing.received import Received
from callboard.actors.subscriber.ledger import clearing, ledger_changes
from callboard.actors.subscriber.quarantine import quarantine
from callboard.actors.subscriber.settings import SubscriberSettings
from callboard.messages.distribution.ledger import Ledger
from callboard.messages.distribution.topic_messages import Status


class Outcome(NamedTuple):
    """The package and its status; None for one that is not for this subscriber."""

    received: Received
    status: Status | None
    reason: str = ""


def unneeded(received: Received, ledger: Ledger) -> Outcome | None:
    """The outcome of a package that is foreign, or was cleared, regardless of any other problem with it."""
    if received.foreign:
        return Outcome(received, None)
    mark = clearing.mark(ledger, received.publisher, received.offset)
    return Outcome(received, Status.REMOVED, clearing.why(mark)) if mark is not None else None


def recorded(ledger: Ledger, outcome: Outcome, settings: SubscriberSettings, now_ns: int) -> Ledger:
    """The ledger after this outcome."""
    received, status, reason = outcome
    if status is None:
        return ledger_changes.passed(ledger, received.offset, received.record_id)
    if status is Status.REMOVED and (mark := clearing.mark(ledger, received.publisher, received.offset)) is not None:
        ledger = clearing.counted(ledger, mark)
    attempts = ledger.attempts if ledger.attempt_offset == received.offset else 0
    publish = settings.editable or status not in ledger_changes.EDITABLE_ONLY
    ledger = ledger_changes.finished(ledger, received, status, publish=publish, now_ns=now_ns, reason=reason)
    if received.message is None:
        return ledger
    if status is Status.HELD:
        ledger = quarantine.hold(ledger, received.offset, received.message, attempts, reason, now_ns)
    elif status is Status.IMPORTED:
        ledger = hooks_due.owe(ledger, received.offset, received.message, settings)
        replaced = quarantine.HeldPaths(ledger.held).touched_by(received.message) if ledger.held else ()
        ledger = quarantine.superseded(ledger, replaced, received.offset, now_ns)
    return ledger
