"""Whom to obey: a command must be new, and meant for this repository and this log; with keys configured, signed."""

from callboard.actors.subscriber.settings import SubscriberSettings
from callboard.messages.distribution import CommandMessage
from callboard.messages.ledger import Ledger
from callboard.messages.mailbox import CommandReceived
from callboard.messages.signing import CommandKey, is_genuine

SKEW_NS = 300 * 10**9
"""The author's clock, by which a command is issued, and the log's, by which it is appended, may differ by so much, its
way to the log included. A command that is copied later is refused, whatever is remembered."""

IDS_MAX = 64
"""Commands that are remembered; they are written with every package. Of signed ones none older counts either."""


def distrust(message: CommandReceived, settings: SubscriberSettings, ledger: Ledger) -> str:
    """Why the command must not be obeyed; empty if it may be."""
    command = message.command
    if command.subscriber_instance not in ("", ledger.instance):
        return (
            f"it was given to the repository that had this name before (instance {command.subscriber_instance[:8]}); "
            f"this is another one ({ledger.instance[:8]}): see `callboard status`, and give it again if it is meant"
        )
    if not command.subscriber_instance and (command.clear or command.skip):
        return (
            "it does not say which repository of this name it is for, as older versions of callboard do not, and could "
            "be an old one; give it again with this version"
        )
    if is_known(ledger, command.command_id):
        return "it was obeyed before; give the order anew, under another id"
    if command.log_id not in ("", ledger.log_id):
        return "it is meant for another package log"
    if not settings.command_keys:
        return ""
    return _forged(command, settings.command_keys) or _copied(message, ledger)


def _forged(command: CommandMessage, keys: tuple[CommandKey, ...]) -> str:
    key = next((key for key in keys if key.id == command.key_id), None)
    if not command.signature:
        return "it is not signed, and only signed commands are obeyed here; set command_key where it is sent"
    if key is None:
        return f"it is signed with key {command.key_id!r}, which is not among the command_keys here"
    if not is_genuine(command, key):
        return f"its signature is wrong: it was altered, or made with another secret than that of key {key.id!r} here"
    return ""


def _copied(message: CommandReceived, ledger: Ledger) -> str:
    """Why it may be an old command, genuine as it is; empty if it is not."""
    command = message.command
    if not command.log_id or not command.command_id:
        return "it is signed without the log or the id that it is for, so it could be sent anywhere, and again"
    if abs(apart_ns := message.time_ns - command.issued_ns) > SKEW_NS:
        way = "after" if apart_ns > 0 else "before"
        return (
            f"it was appended {abs(apart_ns) // 10**9} s {way} it was issued: it is an old one copied, or the author's "
            "clock is wrong; synchronise the clocks, and give the order anew"
        )
    if command.issued_ns <= ledger.command_horizon_ns:
        return "it is older than commands that are forgotten, so it may have been obeyed before; give the order anew"
    return ""


def is_known(ledger: Ledger, command_id: str) -> bool:
    """Whether a command of this id was obeyed, as far as is remembered."""
    return bool(command_id) and any(known.partition("/")[2] == command_id for known in ledger.command_ids)


def remembered(ledger: Ledger, message: CommandReceived) -> tuple[tuple[str, ...], int]:
    """The ledger's ``command_ids`` and ``command_horizon_ns`` with this one among them."""
    command = message.command
    known = (*ledger.command_ids, f"{command.issued_ns}/{command.command_id}")
    forgotten, kept = known[:-IDS_MAX], known[-IDS_MAX:]
    issued = (int(old.partition("/")[0]) for old in forgotten)
    return kept, max((ledger.command_horizon_ns, *issued))
