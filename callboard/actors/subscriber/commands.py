"""The commands to a subscriber: from where they are read on, and why one may be refused."""

from callboard.actors.subscriber.settings import SubscriberSettings
from callboard.messages.distribution import CommandMessage
from callboard.messages.ledger import Ledger
from callboard.messages.mailbox import CommandsWanted


def wanted(ledger: Ledger) -> CommandsWanted:
    """Those behind the last one that took effect."""
    return CommandsWanted(
        subscriber_instance=ledger.instance, log_id=ledger.command_log_id, offset=ledger.command_offset
    )


def refusal(command: CommandMessage, settings: SubscriberSettings, ledger: Ledger) -> str:
    """Why the command has no effect here; empty if it has."""
    if command.clear is None:
        return "this version knows no such command"
    if not settings.editable:
        return "this subscriber is not editable"
    if command.log_id not in ("", ledger.log_id):
        return "it is meant for another package log"
    return ""
