"""The commands to a subscriber as its ledger has them: which were heard, and what they came to."""

from dataclasses import replace
from typing import NamedTuple

from callboard.actors.subscriber.commands.authority import remembered
from callboard.actors.subscriber.ledger import clearing
from callboard.actors.subscriber.ledger.ledger_changes import text
from callboard.messages.distribution.ledger import Ledger, Watermark
from callboard.messages.distribution.mailbox import CommandPassedOver, CommandReceived, CommandsWanted
from callboard.messages.distribution.topic_messages import CommandResultMessage

RESULTS_MAX = 1000
"""Results that may wait for the status topic before commands wait too."""


class Accepted(NamedTuple):
    """The command has taken effect: the ledger is this one now. ``packages`` is -1 if their count is told later."""

    ledger: Ledger
    packages: int = 0
    reason: str = ""
    listing: str = ""


class Refused(NamedTuple):
    """The command has no effect, for this reason."""

    reason: str
    packages: int = 0
    listing: str = ""


def wanted(ledger: Ledger) -> CommandsWanted:
    """Those behind the last one that took effect."""
    return CommandsWanted(
        subscriber_instance=ledger.instance,
        log_id=ledger.command_log_id,
        offset=ledger.command_offset,
        time_ns=ledger.command_time_ns,
    )


def heard(ledger: Ledger, log_id: str, offset: int) -> bool:
    """Whether that command has taken effect already."""
    return ledger.command_log_id == log_id and offset <= ledger.command_offset


def taken(ledger: Ledger, message: CommandReceived | CommandPassedOver) -> Ledger:
    """The command is dealt with, one way or another."""
    return replace(
        ledger, command_log_id=message.log_id, command_offset=message.offset, command_time_ns=message.time_ns
    )


def accepted(ledger: Ledger, message: CommandReceived) -> Ledger:
    """The command has taken effect, which it does not do again."""
    ids, horizon_ns = remembered(ledger, message)
    return taken(replace(ledger, command_ids=ids, command_horizon_ns=horizon_ns), message)


def answered(ledger: Ledger, command_id: str, at: int, answer: Accepted | Refused, now_ns: int) -> Ledger:
    """What the command came to is to be told. A command without an id has nobody who waits for that."""
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
    """The clear is answered with what it has removed by now."""
    return answered(ledger, mark.command_id, mark.command_offset, Accepted(ledger, mark.packages, reason), now_ns)


def cleared(ledger: Ledger, now_ns: int) -> Ledger:
    """Clears that the position is past are answered with their count, and forgotten."""
    done = clearing.passed(ledger)
    if not done:
        return ledger
    ledger = replace(ledger, clears=tuple(mark for mark in ledger.clears if mark not in done))
    for mark in done:
        ledger = _counted(ledger, mark, now_ns, f"cleared up to offset {mark.offset}")
    return ledger


def cleared_so_far(ledger: Ledger, now_ns: int) -> Ledger:
    """Clears of one publisher's packages that lie behind another's, which waits for who knows how long, are answered
    with what they have removed by now. They stand, and go on without a word.
    """
    for mark in ledger.clears:
        if mark.publisher and mark.command_id:
            ledger = _counted(
                ledger,
                mark,
                now_ns,
                f"so far; the rest up to offset {mark.offset} once it is past another publisher's package, "
                f"which waits behind offset {ledger.offset}",
            )
            clears = tuple(replace(each, command_id="") if each is mark else each for each in ledger.clears)
            ledger = replace(ledger, clears=clears)
    return ledger
