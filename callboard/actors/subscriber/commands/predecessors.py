"""The commands that are on the topic when an instance begins to listen: which are for it, and what others were told."""

from shlex import quote

from callboard.actors.subscriber.ledger.ledger_changes import AUTHOR_MAX, text
from callboard.messages.bounds import clipped
from callboard.messages.distribution.ledger import Ledger
from callboard.messages.distribution.mailbox import CommandReceived, CommandsWanted
from callboard.messages.distribution.topic_messages import ClearCommand, CommandMessage, PauseCommand, ThrottleCommand


class Predecessors:
    """Sorts the commands that were given before this instance had the name, and listened.

    What names another instance is not for this one, and nobody waits for its answer any more. A newcomer, which has
    heard nothing yet, obeys of those that name none only a pause and a limit, that were given to whoever comes first:
    as long as no later command names somebody who came.
    """

    def __init__(self, wanted: CommandsWanted) -> None:
        self._instance = wanted.subscriber_instance
        self.newcomer = not wanted.log_id
        """Whether the instance has not heard any command yet."""
        self._in_force: dict[str, CommandReceived] = {}  # the last of each kind that is not for this instance
        self._named = -1  # the last command that names another instance
        self.last = (-1, 0)
        """Offset and time of the newest record that was read."""

    def concerns_us(self, message: CommandReceived) -> bool:
        """Whether this instance is to hear of the command now. What else is in force is remembered."""
        command = message.command
        if command.subscriber_instance == self._instance and command.verify is None:
            self._in_force.clear()  # its author knows of this instance
        if command.subscriber_instance == self._instance or not (command.subscriber_instance or self.newcomer):
            return True
        if command.subscriber_instance:
            self._named = message.offset
        for kind, given, ends in (
            ("pause", command.pause or command.resume, command.resume is not None),
            ("limit", command.throttle, command.throttle is not None and not command.throttle.packages_per_min),
            ("clear", command.clear, False),
        ):
            if given is not None and ends:
                self._in_force.pop(kind, None)
            elif given is not None:
                self._in_force[kind] = message
        return False

    @property
    def for_whoever_comes(self) -> tuple[CommandReceived, ...]:
        """The pause and the limit that a newcomer has to obey, in the order of the log."""
        return tuple(sorted(filter(self._is_open, self._in_force.values()), key=lambda message: message.offset))

    @property
    def void(self) -> tuple[CommandMessage, ...]:
        """What is in force for others, and not here."""
        return tuple(_essence(message.command) for message in self._in_force.values() if not self._is_open(message))

    def _is_open(self, message: CommandReceived) -> bool:
        unnamed = not message.command.subscriber_instance and message.offset > self._named
        return unnamed and message.command.clear is None


def _essence(command: CommandMessage) -> CommandMessage:
    """What is remembered of a command that is not obeyed: it stays in the ledger until somebody gives another one."""
    clear, throttle = command.clear, command.throttle
    return CommandMessage(
        subscriber_instance=command.subscriber_instance,
        subscriber=command.subscriber,
        log_id=command.log_id,
        author=clipped(command.author, AUTHOR_MAX),
        reason=text(command.reason),
        clear=ClearCommand(offset=clear.offset) if clear else None,
        pause=PauseCommand() if command.pause else None,
        throttle=ThrottleCommand(packages_per_min=throttle.packages_per_min) if throttle else None,
    )


def not_in_force(ledger: Ledger) -> str:
    """For people: what others of this name were told that would matter here; empty if there is nothing."""
    told = []
    for command in ledger.void_commands:
        by = f"by {command.author or 'an unknown author'}" + (f" ({command.reason})" if command.reason else "")
        if command.log_id not in ("", ledger.log_id):
            continue
        if command.pause is not None:
            told.append(f"paused {by}")
        elif command.throttle is not None:
            told.append(f"limited to {command.throttle.packages_per_min} packages a minute {by}")
        elif command.clear is not None and command.clear.offset > ledger.offset:
            told.append(f"cleared up to offset {command.clear.offset} {by}")
    if not told:
        return ""
    forget = f"callboard resume {quote(ledger.subscriber)}"
    return (
        f"another repository of this name was {', and '.join(told)}, which does not hold here: give the command again, "
        f"or have it forgotten with {forget}"
    )
