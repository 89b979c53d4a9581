"""The commands that somebody may still have to obey."""

from collections.abc import Callable, Iterable

from callboard.actors.worlds.shortening.topic_fold import TopicFold
from callboard.errors import SchemaTooNew, Undecodable
from callboard.messages.distribution.topic_messages import CommandMessage
from callboard.messages.headers import open_record
from callboard.messages.record import Record


class PendingCommands(TopicFold):
    """Finds the first command that is not obeyed and not too old. It is never repeated, for where a command stands says
    whether it was obeyed: the topic is kept from there on.

    Args:
        topic: of commands.
        obeyed: for a command, the offset of the last one that took effect where it is meant for.
        since_ns: a command that is older is not waited for.
    """

    def __init__(self, topic: str, obeyed: Callable[[CommandMessage], int], since_ns: int) -> None:
        super().__init__(topic)
        self._obeyed, self._since_ns = obeyed, since_ns
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
            self._first = record.offset  # whoever it is for says that it cannot be read, and waits
            return
        if self._obeyed(command) < record.offset:
            self._first = record.offset
