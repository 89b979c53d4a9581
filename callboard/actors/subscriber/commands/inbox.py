"""The commands that were heard but not carried out yet."""

from collections import deque
from collections.abc import Iterator
from dataclasses import replace

from callboard.actors.core.decision import Send
from callboard.actors.subscriber import roles
from callboard.actors.subscriber.commands import answers, recorded
from callboard.actors.subscriber.ledger.ledger_state import Change
from callboard.messages.distribution.ledger import Ledger
from callboard.messages.distribution.mailbox import CommandPassedOver, CommandReceived, CommandsBlocked, CommandsRead


class CommandInbox:
    """Asks for commands, and keeps them until they are carried out.

    It also keeps the end of the package log: a command about an offset past it is refused.
    """

    def __init__(self) -> None:
        self.waiting: deque[CommandReceived | CommandPassedOver] = deque()
        self.end = -1
        """The end of the package log, looked up after the last command was heard; -1 if not known."""
        self.listening = False
        """Whether commands were asked for."""
        self.complete = False
        """Whether every command on the topic was heard, so that the first import does not overtake a clear."""
        self.problem = ""
        """Why no further commands are heard; empty if they are."""
        self._looking = False

    @property
    def settled(self) -> bool:
        """Whether the next import has no command to wait for."""
        return self.complete and not self.waiting

    def listen(self, ledger: Ledger) -> Iterator[Send]:
        """Ask for the commands that were not handled yet. The waiting ones are dropped: they are heard again."""
        self.listening = True
        self.waiting.clear()
        yield Send(roles.COMMAND_HANDLER, recorded.wanted(ledger))

    def hear(self, message: CommandReceived | CommandPassedOver | CommandsRead | CommandsBlocked) -> Iterator[Change]:
        """A command, a record that is passed over, or the end of the commands on the topic."""
        match message:
            case CommandsRead(void=void):
                self.complete = True
                if void:
                    yield Change(lambda ledger: replace(ledger, void_commands=void))
            case CommandsBlocked(reason=reason):
                self.complete, self.problem = True, reason
            case _:
                self.waiting.append(message)
                self.end, self._looking = -1, False

    @property
    def curious(self) -> bool:
        """Whether the end of the package log must be looked up."""
        about_packages = any(answers.about(message) is not None for message in self.waiting)
        return self.end < 0 and not self._looking and about_packages

    def look(self) -> None:
        """The lookup of the end has begun."""
        self._looking = True

    def found(self, end: int) -> None:
        """The end was found. A lookup that began before the last command was heard does not count for that command."""
        if self._looking:
            self.end, self._looking = end, False

    def not_found(self) -> None:
        """The lookup failed: it is done again."""
        self._looking = False
