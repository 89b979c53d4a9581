"""A topic in use: its id in the schema, its writer, and the newest offset heard."""

from callboard.backends.logs.postgres.writer import Commit, Writer
from callboard.backends.logs.wake_up import WakeUp


class Topic:
    """One incarnation of a topic."""

    def __init__(self, topic_id: int, commit: Commit) -> None:
        self.id = topic_id
        self.writer = Writer(commit)
        self.appended = WakeUp()
        self.newest_heard = 0

    def hear(self, newest: int) -> None:
        """Note that records up to this offset were committed."""
        self.newest_heard = max(newest, self.newest_heard)
        self.appended.ring()
