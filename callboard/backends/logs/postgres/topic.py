"""A topic in use: its id in the schema, its writer, and what was heard of its end."""

from collections.abc import Awaitable, Callable

from callboard.backends.logs.appended import Appended
from callboard.backends.logs.group_writer import GroupWriter
from callboard.backends.logs.postgres.append import Row

GROUP_RECORDS = 1000
GROUP_BYTES = 4 << 20
"""Limits of a group, so that the topic's lock is soon free for other processes."""


class Topic:
    """One incarnation of a topic."""

    def __init__(self, topic_id: int, commit: Callable[[list[Row]], Awaitable[list[int]]]) -> None:
        self.id = topic_id
        self.writer = GroupWriter(commit, GROUP_BYTES, GROUP_RECORDS)
        self.appended = Appended()
