"""The commands that were heard and are not carried out yet."""

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
    """Asks for commands, and keeps them until they are carried out, with the end of the package log: a command about
    offsets that it does not have yet is refused.
    """

    def __init__(self) -> None:
        self.waiting: deque[CommandReceived | CommandPassedOver] = deque()
        self.end = -1
        """Of the package log, as it was found after the last command was heard."""
        self.listening = False
        """Commands were asked for."""
        self.complete = False
        """Every command there was has been heard, so the first import does not overtake a clear."""
        self.problem = ""
        """Why no more commands are heard."""
        self._looking = False

    @property
    def settled(self) -> bool:
        """Whether no command is to be carried out before the next import."""
        return self.complete and not self.waiting

    def listen(self, ledger: Ledger) -> Iterator[Send]:
        """Ask for those that have not taken effect. Forget those that are not carried out: they are heard again."""
        self.listening = True
        self.waiting.clear()
        yield Send(roles.COMMAND_HANDLER, recorded.wanted(ledger))

    def hear(self, message: CommandReceived | CommandPassedOver | CommandsRead | CommandsBlocked) -> Iterator[Change]:
        """A command, a record that takes the place of one, or the end of those that there are."""
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
        """The end is being looked up."""
        self._looking = True

    def found(self, end: int) -> None:
        """The end is this. What was looked up before the last command was heard tells nothing about that one."""
        if self._looking:
            self.end, self._looking = end, False

    def not_found(self) -> None:
        """It must be looked up again."""
        self._looking = False
