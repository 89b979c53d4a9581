"""How the ledger changes: pure functions from one ledger to the next.

The ledger is written in the transaction that changes the content, so everything in it has happened.
"""

from callboard.actors.subscriber.importing.received import Received
from callboard.messages.bounds import clipped
from callboard.messages.distribution.ledger import GivenUp, HeldPackage, HookDue, Ledger
from callboard.messages.distribution.mailbox import StatusesPending
from callboard.messages.distribution.topic_messages import PackageStatusMessage, Status
from callboard.messages.event import replaced

ERROR_TEXT_MAX = 2000
"""Characters of an error or a reason that are kept, sent and announced: a thousand of them may be in the ledger, which
is written with every import."""
AUTHOR_MAX = 200
"""Characters of an author that are kept: as many as the door accepts."""


GIVEN_UP_MAX = 100
"""Given up packages that are remembered; they are written with every import. Older ones cannot be dismissed."""

EDITABLE_ONLY = (Status.IMPORTED, Status.SUPERSEDED, Status.REMOVED)
"""Statuses that only an editable subscriber sends; all others every subscriber sends."""


def text(error: object) -> str:
    """An error as text that can be stored and sent: bounded, and valid UTF-8 even if it quotes a file name."""
    return clipped(str(error), ERROR_TEXT_MAX).encode(errors="replace").decode()


def adopt(ledger: Ledger | None, subscriber: str, new_instance: str) -> Ledger:
    """The ledger to start with: a cloned repository is recognised by the other subscriber's name in its ledger."""
    if ledger is None:
        return Ledger(instance=new_instance, subscriber=subscriber)
    return ledger if ledger.subscriber == subscriber else cloned(ledger, subscriber, new_instance)


def cloned(ledger: Ledger, subscriber: str, new_instance: str) -> Ledger:
    """The ledger of a copy: it keeps the position, but is a new instance, which has received no command and sent
    nothing yet.
    """
    return replaced(
        ledger,
        instance=new_instance,
        subscriber=subscriber,
        attempts=0,
        attempt_offset=-1,
        last_error="",
        clears=(),
        command_log_id="",
        command_offset=-1,
        command_time_ns=0,
        command_ids=(),
        command_horizon_ns=0,
        paused_by="",
        pause_reason="",
        throttle_per_min=0,
        without_golden=-1,
        next_sequence=1,
        outbox=(),
        results=(),
        given_up=(),
        failed_hooks=(),
        void_commands=(),
    )


def positioned(ledger: Ledger, log_id: str, last: int) -> Ledger:
    """Begin after the offset ``last`` of this log. Marks set on another log, or on a newer copy of this one, are
    dropped; an older copy is recognised by the position moving back.
    """
    same = ledger.log_id == log_id and last >= ledger.offset
    return replaced(
        ledger,
        log_id=log_id,
        positioned=True,
        offset=last,
        site_next=-1,
        site_relayed=-1,
        site_offset=-1,
        attempt_offset=-1,
        attempts=0,
        last_error="",
        record_id=ledger.record_id if last == ledger.offset and same else "",
        clears=ledger.clears if same else (),
        held=ledger.held if same else (),
        apart_until=-1,
        without_golden=ledger.without_golden if same else -1,
        given_up=ledger.given_up if same else (),
        failed_hooks=ledger.failed_hooks if same else (),
    )


def attempting(ledger: Ledger, offset: int) -> Ledger:
    """One more attempt at the package at ``offset``; store this before the attempt."""
    attempts = ledger.attempts + 1 if ledger.attempt_offset == offset else 1
    return replaced(ledger, attempt_offset=offset, attempts=attempts)


def attempting_together(ledger: Ledger, last: int) -> Ledger:
    """An attempt at everything up to the offset ``last``; store this before the attempt. It counts against none of the
    packages. If it fails it is not repeated: see ``Batch``.
    """
    return replaced(ledger, apart_until=last)


def retried(ledger: Ledger) -> Ledger:
    """Give the package at the head all its attempts again."""
    return replaced(ledger, attempt_offset=-1, attempts=0)


def not_counted(ledger: Ledger, error: object) -> Ledger:
    """The attempt failed for a reason outside the package."""
    return replaced(ledger, attempts=max(0, ledger.attempts - 1), last_error=text(error))


def failed(ledger: Ledger, error: object) -> Ledger:
    """The attempt failed."""
    return replaced(ledger, last_error=text(error))


def passed(ledger: Ledger, offset: int, record_id: str) -> Ledger:
    """Skip ``offset``: the record there is not for this subscriber."""
    return replaced(ledger, offset=offset, record_id=record_id)


def finished(
    ledger: Ledger, received: Received, status: Status, *, publish: bool, now_ns: int, reason: str = ""
) -> Ledger:
    """The package is finished; ``publish`` says whether this is reported. A failure without a reason of its own
    gets the last error.
    """
    offset, message = received.offset, received.message
    tried = ledger.attempts if ledger.attempt_offset == offset else int(status is Status.IMPORTED)
    after = replaced(
        ledger,
        offset=offset,
        record_id=received.record_id,
        attempt_offset=-1,
        attempts=0,
        last_error="",
        imported=ledger.imported + (status is Status.IMPORTED),
        cleared=ledger.cleared + (status is Status.REMOVED),
        superseded=ledger.superseded + (status is Status.SUPERSEDED),
        skipped=ledger.skipped + (status is Status.SKIPPED),
    )
    if not publish:
        return after
    about = GivenUp(offset=offset, publisher=received.publisher, package_id=message.package_id if message else "")
    why = reason or (ledger.last_error if status is Status.REMOVED_FAILED else "")
    return reported(after, about, status, why, tried, now_ns)


def reported(
    ledger: Ledger, about: GivenUp | HeldPackage | HookDue, status: Status, reason: str, attempts: int, now_ns: int
) -> Ledger:
    """Queue this status for sending."""
    line = PackageStatusMessage(
        subscriber_instance=ledger.instance,
        subscriber=ledger.subscriber,
        publisher=about.publisher,
        package_id=about.package_id,
        offset=about.offset,
        status=status,
        reason=text(reason),
        attempts=attempts,
        sequence=ledger.next_sequence,
        time_ns=now_ns,
    )
    given_up = tuple(each for each in ledger.given_up if each.offset != about.offset)
    if status is Status.REMOVED_FAILED:
        lost = GivenUp(offset=about.offset, publisher=about.publisher, package_id=about.package_id)
        given_up = (*given_up, lost)[-GIVEN_UP_MAX:]
    return replaced(ledger, outbox=(*ledger.outbox, line), next_sequence=ledger.next_sequence + 1, given_up=given_up)


def dismissed(ledger: Ledger, offset: int, reason: str, now_ns: int) -> Ledger | None:
    """A package that was given up leaves the error queue, and nothing else changes; None if it is not remembered."""
    lost = next((each for each in ledger.given_up if each.offset == offset), None)
    return None if lost is None else reported(ledger, lost, Status.REMOVED, reason, 0, now_ns)


def statuses_sent(ledger: Ledger, sequence: int) -> Ledger:
    """The statuses and results up to this sequence number are on the log."""
    return replaced(
        ledger,
        outbox=tuple(line for line in ledger.outbox if line.sequence > sequence),
        results=tuple(line for line in ledger.results if line.sequence > sequence),
    )


def tellable(ledger: Ledger, stored: Ledger | None, above: int) -> StatusesPending:
    """The stored statuses and results above a sequence number, to be sent. One that is not stored would, after a crash,
    be sent before it happens, under a number that another one may then get.
    """
    below = stored.next_sequence if stored is not None and stored.instance == ledger.instance else 0
    return StatusesPending(
        statuses=tuple(line for line in ledger.outbox if above < line.sequence < below),
        results=tuple(line for line in ledger.results if above < line.sequence < below),
    )
