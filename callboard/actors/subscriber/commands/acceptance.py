"""Whether a command is accepted: it must be new, and for this repository and log; with keys, also trusted.

Its signature is checked when it is read, in ``backends/logs/signed_log.py``. ``CommandReceived.distrust`` is the
result.
"""

from callboard.actors.subscriber.settings import SubscriberSettings
from callboard.messages.distribution.ledger import Ledger
from callboard.messages.distribution.mailbox import CommandReceived
from callboard.messages.distribution.topic_messages import CommandMessage

IDS_MAX = 64
"""Command ids remembered in the ledger, which is written with every package. With keys, older commands are refused."""


def distrust(message: CommandReceived, settings: SubscriberSettings, ledger: Ledger) -> str:
    """Why the command is refused; empty if it is accepted."""
    command = message.command
    if message.distrust:
        return message.distrust
    if command.subscriber_instance not in ("", ledger.instance):
        return (
            f"it is for another repository of this name (instance {command.subscriber_instance[:8]}), and this one is "
            f"{ledger.instance[:8]}: check `callboard status`, then send it again if it is meant for this one"
        )
    if not command.subscriber_instance and (command.clear or command.skip):
        return (
            "it names no repository, as commands of older versions of callboard do, so it may be an old one; send it "
            "again with this version"
        )
    if is_known(ledger, command.command_id):
        return "it was accepted before; send the command again with a new id"
    if command.log_id not in ("", ledger.log_id):
        return "it is for another package log; send it again on this one"
    return _old(command, ledger) if settings.signed else ""


def _old(command: CommandMessage, ledger: Ledger) -> str:
    """Why it may be a replay: its signature is genuine, but the log may have been trimmed since it was signed."""
    if not command.subscriber_instance or not command.log_id or not command.command_id:
        return (
            "it lacks a repository, a log or an id, so it may be an old one; send it again while the subscriber is "
            "running"
        )
    if command.issued_ns <= ledger.command_horizon_ns:
        return "it is older than the commands remembered here, so it may have been accepted before; send it again"
    return ""


def is_known(ledger: Ledger, command_id: str) -> bool:
    """Whether a command with this id is among the remembered ones."""
    return bool(command_id) and any(known.partition("/")[2] == command_id for known in ledger.command_ids)


def remembered(ledger: Ledger, message: CommandReceived) -> tuple[tuple[str, ...], int]:
    """The ledger's new ``command_ids`` and ``command_horizon_ns``, with this command added."""
    command = message.command
    known = (*ledger.command_ids, f"{command.issued_ns}/{command.command_id}")
    forgotten, kept = known[:-IDS_MAX], known[-IDS_MAX:]
    issued = (int(old.partition("/")[0]) for old in forgotten)
    return kept, max((ledger.command_horizon_ns, *issued))
