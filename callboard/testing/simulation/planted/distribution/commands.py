"""Bugs in whether a repository accepts a command."""

from dataclasses import replace
from typing import Any

from callboard.actors.core.decision import Send
from callboard.actors.subscriber.commands import acceptance, execution
from callboard.actors.subscriber.commands.command_handler import CommandHandler
from callboard.actors.subscriber.commands.execution import CommandExecution
from callboard.actors.subscriber.roles import IMPORTER
from callboard.messages.distribution.ledger import Ledger
from callboard.messages.distribution.mailbox import CommandReceived
from callboard.messages.distribution.topic_messages import CommandMessage
from callboard.messages.headers import open_record
from callboard.testing.simulation.planted.patch import Patch


def _heirs(right: Any, self: CommandHandler, record: Any, log_id: str) -> Any:
    command = open_record(record, CommandMessage)
    if self._before is None or command.subscriber != self._settings.name:
        yield from right(self, record, log_id)
    else:
        mine = replace(command, subscriber_instance=self._before._instance)  # noqa: SLF001  # a bug keeps no rule
        yield Send(
            IMPORTER,
            CommandReceived(log_id=log_id, offset=record.offset, command=mine, time_ns=record.time_ns),
        )


def _obliging(right: Any, message: CommandReceived, settings: Any, ledger: Ledger) -> Any:
    return right(_to(message, ledger.instance if message.command.subscriber_instance else ""), settings, ledger)


def _gullible(right: Any, message: CommandReceived, settings: Any, ledger: Ledger) -> Any:
    return right(_to(message, message.command.subscriber_instance or ledger.instance), settings, ledger)


def _to(message: CommandReceived, instance: str) -> CommandReceived:
    return replace(message, command=replace(message.command, subscriber_instance=instance))


def _deaf(right: Any, self: CommandExecution, message: CommandReceived, *others: Any) -> Any:
    if message.command.subscriber_instance in ("", self.state.ledger.instance):
        yield from right(self, message, *others)


def _amnesic(right: Any, ledger: Ledger, command_id: str) -> bool:
    del right, ledger, command_id
    return False


BUGS = (
    Patch("a new repository carries out its predecessor's commands", CommandHandler, "_forward", _heirs),
    Patch("a command to a former repository is carried out", execution, "distrust", _obliging),
    Patch("a command that names no repository empties a queue", execution, "distrust", _gullible),
    Patch("a command to a former repository has no answer", CommandExecution, "_record", _deaf),
    Patch("a command takes effect each time it is on the log", acceptance, "is_known", _amnesic),
)
