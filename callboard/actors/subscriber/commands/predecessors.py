"""The commands on the topic when an instance starts listening: which are for it, and which were for other instances."""

from shlex import quote

from callboard.actors.subscriber.ledger.ledger_changes import AUTHOR_MAX, text
from callboard.messages.bounds import clipped
from callboard.messages.distribution.ledger import Ledger
from callboard.messages.distribution.mailbox import CommandReceived, CommandsWanted
from callboard.messages.distribution.topic_messages import ClearCommand, CommandMessage, PauseCommand, ThrottleCommand


class Predecessors:
    """Sorts the commands given before this instance listened.

    A command that names another instance is not for this one, and no one waits for its answer any more. Of commands
    that name no instance, a newcomer (which has heard none yet) accepts only a pause and a limit, which are for the
    first instance to come, and only if no later command names another instance.
    """

    def __init__(self, wanted: CommandsWanted) -> None:
        self._instance = wanted.subscriber_instance
        self.newcomer = not wanted.log_id
        """Whether the instance has heard no command yet."""
        self._in_force: dict[str, CommandReceived] = {}  # the last of each kind that is not for this instance
        self._named = -1  # the last command that names another instance
        self.last = (-1, 0)
        """Offset and time of the newest record that was read."""

    def concerns_us(self, message: CommandReceived) -> bool:
        """Whether to forward the command to this instance now. Others that are in force are remembered."""
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

    def names_us(self, message: CommandReceived) -> bool:
        """Whether the command names this instance; a relay forwards only such commands."""
        return message.command.subscriber_instance == self._instance

    @property
    def open_to_newcomers(self) -> tuple[CommandReceived, ...]:
        """The pause and the limit that a newcomer accepts, in the order of the log."""
        return tuple(sorted(filter(self._is_open, self._in_force.values()), key=lambda message: message.offset))

    @property
    def void(self) -> tuple[CommandMessage, ...]:
        """Commands in force for other instances, but not for this one."""
        return tuple(_essence(message.command) for message in self._in_force.values() if not self._is_open(message))

    def _is_open(self, message: CommandReceived) -> bool:
        unnamed = not message.command.subscriber_instance and message.offset > self._named
        return unnamed and message.command.clear is None


def _essence(command: CommandMessage) -> CommandMessage:
    """What the ledger keeps of a command that is not in force here, until a new command is given."""
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
    """For people: the commands to other instances of this name that would matter here; empty if there are none."""
    given = []
    for command in ledger.void_commands:
        by = f"by {command.author or 'an unknown author'}" + (f" ({command.reason})" if command.reason else "")
        if command.log_id not in ("", ledger.log_id):
            continue
        if command.pause is not None:
            given.append(f"paused {by}")
        elif command.throttle is not None:
            given.append(f"limited to {command.throttle.packages_per_min} packages a minute {by}")
        elif command.clear is not None and command.clear.offset > ledger.offset:
            given.append(f"cleared up to offset {command.clear.offset} {by}")
    if not given:
        return ""
    forget = f"callboard resume {quote(ledger.subscriber)}"
    return (
        f"another repository of this name was {', and '.join(given)}; that is not in force here: send the command "
        f"again, or discard it with {forget}"
    )
