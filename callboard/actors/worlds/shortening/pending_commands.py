"""The commands that a subscriber may still have to carry out."""

from collections.abc import Callable, Iterable

from callboard.actors.worlds.shortening.topic_fold import TopicFold
from callboard.errors import SchemaTooNew, Undecodable
from callboard.messages.distribution.topic_messages import CommandMessage
from callboard.messages.headers import open_record
from callboard.messages.record import Record


class PendingCommands(TopicFold):
    """Finds the first command that is neither carried out nor too old. Commands are never repeated, since the offset of
    a command tells whether it was carried out: the topic is kept from there on.

    Args:
        topic: of commands.
        handled_up_to: returns, for a command, the offset of the last one that took effect at the same target.
        since_ns: older commands are not waited for.
    """

    def __init__(self, topic: str, handled_up_to: Callable[[CommandMessage], int], since_ns: int) -> None:
        super().__init__(topic)
        self._handled_up_to, self._since_ns = handled_up_to, since_ns
        self.start_over()

    def start_over(self) -> None:
        """See ``TopicFold``."""
        super().start_over()
        self._first = -1

    def last_cut(self, below: int) -> int:
        """See ``TopicFold``."""
        return below if self._first < 0 else min(below, self._first)

    def needed(self) -> Iterable[int]:
        """See ``TopicFold``."""
        return ()

    def needs(self, record: Record) -> bool:  # noqa: ARG002 - nothing is repeated
        """See ``TopicFold``."""
        return False

    def fold(self, record: Record, seen_ns: int) -> None:
        """See ``TopicFold``."""
        if self._first >= 0 or seen_ns < self._since_ns:
            return
        try:
            command = open_record(record, CommandMessage)
        except (SchemaTooNew, Undecodable):
            self._first = record.offset  # its target reports it as unreadable, and waits
            return
        if self._handled_up_to(command) < record.offset:
            self._first = record.offset
