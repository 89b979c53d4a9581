"""The commands to a subscriber in its ledger: which ones were handled, and their results."""

from dataclasses import replace
from typing import NamedTuple

from callboard.actors.subscriber.commands.acceptance import remembered
from callboard.actors.subscriber.ledger import clearing
from callboard.actors.subscriber.ledger.ledger_changes import text
from callboard.messages.distribution.ledger import Ledger, Watermark
from callboard.messages.distribution.mailbox import CommandPassedOver, CommandReceived, CommandsWanted
from callboard.messages.distribution.topic_messages import CommandResultMessage

RESULTS_MAX = 1000
"""Results waiting for the status topic, at most; further commands then wait too."""


class Accepted(NamedTuple):
    """The command takes effect: this is the new ledger. ``packages`` is -1 if the count follows later."""

    ledger: Ledger
    packages: int = 0
    reason: str = ""
    listing: str = ""


class Refused(NamedTuple):
    """The command has no effect, for the given reason."""

    reason: str
    packages: int = 0
    listing: str = ""


def wanted(ledger: Ledger) -> CommandsWanted:
    """A request for the commands after the last one handled."""
    return CommandsWanted(
        subscriber_instance=ledger.instance,
        log_id=ledger.command_log_id,
        offset=ledger.command_offset,
        time_ns=ledger.command_time_ns,
    )


def heard(ledger: Ledger, log_id: str, offset: int) -> bool:
    """Whether the command at this offset was handled already."""
    return ledger.command_log_id == log_id and offset <= ledger.command_offset


def taken(ledger: Ledger, message: CommandReceived | CommandPassedOver) -> Ledger:
    """The ledger after the command was handled: accepted, refused or passed over."""
    return replace(
        ledger, command_log_id=message.log_id, command_offset=message.offset, command_time_ns=message.time_ns
    )


def accepted(ledger: Ledger, message: CommandReceived) -> Ledger:
    """The ledger after the command was accepted; its id is remembered, so that it takes effect only once."""
    ids, horizon_ns = remembered(ledger, message)
    return taken(replace(ledger, command_ids=ids, command_horizon_ns=horizon_ns), message)


def answered(ledger: Ledger, command_id: str, at: int, answer: Accepted | Refused, now_ns: int) -> Ledger:
    """The ledger with a result to send. A command without an id gets none: no one waits for it."""
    if not command_id:
        return ledger
    result = CommandResultMessage(
        subscriber_instance=ledger.instance,
        subscriber=ledger.subscriber,
        command_id=command_id,
        command_offset=at,
        accepted=isinstance(answer, Accepted),
        packages=answer.packages,
        reason=text(answer.reason),
        offset=ledger.offset,
        digest=answer.listing,
        listing_ref=answer.listing,
        sequence=ledger.next_sequence,
        time_ns=now_ns,
    )
    return replace(ledger, results=(*ledger.results, result), next_sequence=ledger.next_sequence + 1)


def _counted(ledger: Ledger, mark: Watermark, now_ns: int, reason: str) -> Ledger:
    """The ledger with a result for the clear: what it has removed so far."""
    return answered(ledger, mark.command_id, mark.command_offset, Accepted(ledger, mark.packages, reason), now_ns)


def cleared(ledger: Ledger, now_ns: int) -> Ledger:
    """Answer the clears that the position has passed with their count, and drop them from the ledger."""
    done = clearing.passed(ledger)
    if not done:
        return ledger
    ledger = replace(ledger, clears=tuple(mark for mark in ledger.clears if mark not in done))
    for mark in done:
        ledger = _counted(ledger, mark, now_ns, f"cleared up to offset {mark.offset}")
    return ledger


def cleared_so_far(ledger: Ledger, now_ns: int) -> Ledger:
    """Answer clears that are stuck behind another publisher's package, which may wait for long, with their count so
    far. They stay in force, without a further answer.
    """
    for mark in ledger.clears:
        if mark.publisher and mark.command_id:
            ledger = _counted(
                ledger,
                mark,
                now_ns,
                f"so far; the rest up to offset {mark.offset} follows another publisher's package, which waits after "
                f"offset {ledger.offset}",
            )
            clears = tuple(replace(each, command_id="") if each is mark else each for each in ledger.clears)
            ledger = replace(ledger, clears=clears)
    return ledger
