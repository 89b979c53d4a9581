"""Whom to obey: a command must be new, and meant for this repository and this log; with keys, also trusted."""

from callboard.actors.subscriber.settings import SubscriberSettings
from callboard.messages.distribution.ledger import Ledger
from callboard.messages.distribution.mailbox import CommandReceived
from callboard.messages.distribution.topic_messages import CommandMessage

IDS_MAX = 64
"""Commands that are remembered; they are written with every package. Of signed ones none older counts either."""


def distrust(message: CommandReceived, settings: SubscriberSettings, ledger: Ledger) -> str:
    """Why the command must not be obeyed; empty if it may be."""
    command = message.command
    if message.distrust:
        return message.distrust
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
    return _old(command, ledger) if settings.signed else ""


def _old(command: CommandMessage, ledger: Ledger) -> str:
    """Why it may be an old command, genuine as it is: its signature is, and the log may have been trimmed since."""
    if not command.subscriber_instance or not command.log_id or not command.command_id:
        return (
            "it does not say for which repository of this name it is, or for which log, or has no id, so that it could "
            "be an old one; give it again while the subscriber is there"
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
