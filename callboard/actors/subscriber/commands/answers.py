"""How each command is answered: pure functions from the ledger, and what else is known, to its answer."""

from dataclasses import replace
from shlex import quote

from callboard.actors.subscriber.commands.predecessors import not_in_force
from callboard.actors.subscriber.commands.recorded import Accepted, Refused
from callboard.actors.subscriber.gates.pacing import PER_MIN_MAX, paused
from callboard.actors.subscriber.hooks import hooks_due
from callboard.actors.subscriber.importing.outcome import Outcome, recorded
from callboard.actors.subscriber.importing.received import Received
from callboard.actors.subscriber.ledger import clearing, ledger_changes
from callboard.actors.subscriber.quarantine import quarantine
from callboard.actors.subscriber.settings import SubscriberSettings
from callboard.content.survey import Survey
from callboard.errors import CallboardError
from callboard.messages.bounds import clipped
from callboard.messages.distribution.ledger import Ledger
from callboard.messages.distribution.mailbox import CommandPassedOver, CommandReceived
from callboard.messages.distribution.topic_messages import CommandMessage, Status

HEAD = -1
"""The offset by which a retry means the package at the head of the queue."""

CLEARS_MAX = 100
"""Clears under way at once, at most: they are written with every import."""


def out_of_place(offset: int, end: int, gap: str) -> str:
    """Why no command can be about this offset, given the end of the log (-1 if not known); empty if one can."""
    if offset < 0:
        return f"there is no offset {offset}; the first is 0"
    if gap:
        return f"the subscriber has lost its position in the log: {gap}"
    return f"offset {offset} is past the end of the package log, which is {end}" if 0 <= end <= offset else ""


def name(command: CommandMessage) -> str:
    """The command's name. Several at once give a name that is not known."""
    return "+".join(command.kinds)


def about(message: CommandReceived | CommandPassedOver) -> int | None:
    """The offset of the package that the command is about; None if it is about none, or the one at the head.

    Only for a retry does -1 mean the head. An untrusted command may contain any number.
    """
    if isinstance(message, CommandPassedOver):
        return None
    command = message.command
    if command.retry is not None:
        return None if command.retry.offset == HEAD else command.retry.offset
    package = command.clear or command.skip
    return None if package is None else package.offset


def clear(
    ledger: Ledger, message: CommandReceived, offset: int, settings: SubscriberSettings, now_ns: int
) -> Accepted | Refused:
    """Remove everything up to the offset."""
    if not settings.editable:
        return Refused("this subscriber is not editable, so clearing would make it differ; set editable = true")
    held = quarantine.clearable(ledger, message.command.publisher, offset)
    after = max(ledger.offset, message.command.position)
    if offset <= after and not held:
        return Refused(f"nothing is left to clear up to offset {offset}: the position is already {after}")
    if clearing.is_marked(ledger, message.command.publisher, after, offset) and not held:
        return Refused(f"everything up to offset {offset} is already being cleared")
    if len(ledger.clears) >= CLEARS_MAX:
        return Refused(f"{CLEARS_MAX} clears are under way, the most allowed; clear up to the last offset at once")
    marked = clearing.marked(ledger, message, offset)
    mark = marked.clears[-1]
    ahead = offset > after
    ledger = clearing.counted(marked, mark, len(held)) if ahead else ledger
    ledger = quarantine.cleared(ledger, mark.publisher, offset, clearing.why(mark), now_ns)
    return Accepted(ledger, packages=-1 if ahead else len(held))


def skip_passed(ledger: Ledger, offset: int, command: CommandMessage, now_ns: int) -> Accepted | Refused:
    """Dismiss what is left of a package that was passed and is not in quarantine: its error, and its hooks."""
    why = f"dismissed {_who(command)}"
    dismissed = ledger_changes.dismissed(ledger, offset, why, now_ns) or hooks_due.dismissed(
        ledger, offset, why, now_ns
    )
    passed = f"offset {offset} is already processed, and nothing of it is left to skip"
    return Refused(passed) if dismissed is None else Accepted(dismissed, packages=1)


def skip(
    ledger: Ledger,
    offset: int,
    command: CommandMessage,
    head: Received | None,
    settings: SubscriberSettings,
    now_ns: int,
) -> Accepted | Refused:
    """Skip the package, which is held or at the head."""
    if not settings.editable:
        return Refused("this subscriber is not editable, so skipping would make it differ; set editable = true")
    reason = f"skipped {_who(command)}"
    if quarantine.find(ledger, offset) is not None:
        return Accepted(quarantine.ended(ledger, offset, Status.SKIPPED, reason, now_ns), packages=1)
    if head is None or head.offset != offset:
        return elsewhere(offset, head)
    return Accepted(recorded(ledger, Outcome(head, Status.SKIPPED, reason), settings, now_ns), packages=1)


def elsewhere(offset: int, head: Received | None) -> Refused:
    """Refuse a command about an offset that is not at the head of the queue."""
    if offset < 0:
        return Refused("no package is at the head of the queue, so there is nothing to retry")
    if head is None or offset < head.offset:
        return Refused(f"no package for this subscriber is at offset {offset}")
    return Refused(f"offset {offset} is not at the head of the queue, which is offset {head.offset}; wait until it is")


def retry_head(ledger: Ledger, offset: int, *, without_golden: bool) -> Accepted:
    """Give the package at the head all its attempts again."""
    ledger = ledger_changes.retried(ledger)
    return Accepted(replace(ledger, without_golden=offset) if without_golden else ledger, packages=1)


def retry_passed(ledger: Ledger, offset: int, subscriber: str) -> Accepted | Refused | None:
    """Retry a held package, or its hook; None if it was given up. Nothing is imported twice."""
    if (held := quarantine.find(ledger, offset)) is not None:
        if held.waits_for >= 0:
            return Refused(f"offset {offset} waits for offset {held.waits_for}; retry or skip that one first")
        return Accepted(quarantine.retried(ledger, offset), packages=1)
    if (changed := hooks_due.retried(ledger, offset)) is not None:
        return Accepted(changed, packages=1, reason="its post-import hook is called again")
    if any(each.offset == offset for each in ledger.given_up):
        return None
    return Refused(
        f"offset {offset} was not given up: it was imported or passed over; to get it again, "
        f"callboard log resend {offset} --to {quote(subscriber)}"
    )


def out_of_order(offset: int, relay: str) -> Refused:
    """Refuse to retry a package that a relay gave up: it keeps the order of its site's log."""
    return Refused(
        f"offset {offset} was given up, and a relay keeps the order of the log; to send the content again, run "
        f"`callboard log resend {offset} --to {quote(relay)}`"
    )


def recall(ledger: Ledger, offset: int, found: Received | str, now_ns: int) -> Accepted | Refused:
    """Retry a package that was given up, as read from the log, if it still may be imported."""
    if isinstance(found, str) or found.message is None:
        return Refused(f"offset {offset} cannot be retried: {found}")
    if problem := quarantine.no_room(ledger, found.message):
        return Refused(problem)
    return Accepted(quarantine.recalled(ledger, offset, found.message, now_ns), packages=1)


def verify(ledger: Ledger, found: Survey | CallboardError) -> Accepted | Refused:
    """Report what the repository holds."""
    if isinstance(found, CallboardError):
        return Refused(f"the repository could not be listed: {ledger_changes.text(found)}")
    return Accepted(ledger, reason=f"listed {found.entries} entries", listing=found.digest)


def pace(ledger: Ledger, command: CommandMessage) -> Accepted | Refused:
    """Pause, resume, or change the speed limit."""
    if command.throttle is not None:
        return _throttle(ledger, command.throttle.packages_per_min)
    if command.resume is not None:
        forgets = command.subscriber_instance == ledger.instance and not_in_force(ledger)
        if not ledger.paused_by and not forgets:
            return Refused("it is not paused")
        return Accepted(replace(ledger, paused_by="", pause_reason=""))
    assert command.pause is not None
    if ledger.paused_by:
        return Refused(f"it is {paused(ledger)}")
    author = clipped(command.author, ledger_changes.AUTHOR_MAX) or "an unknown author"
    return Accepted(replace(ledger, paused_by=author, pause_reason=ledger_changes.text(command.reason)))


def _throttle(ledger: Ledger, limit: int) -> Accepted | Refused:
    if not 0 <= limit <= PER_MIN_MAX:
        return Refused(f"{limit} packages a minute is not a valid limit; choose 0 (no limit) to {PER_MIN_MAX}")
    if limit == ledger.throttle_per_min:
        return Refused(f"its limit is already {limit} packages a minute" if limit else "it has no limit to lift")
    return Accepted(replace(ledger, throttle_per_min=limit))


def _who(command: CommandMessage) -> str:
    return f"by {command.author or 'an unknown author'}" + (f": {command.reason}" if command.reason else "")
