"""Readings of a board's control topic."""

from collections.abc import Awaitable, Callable
from contextlib import suppress

from callboard.backends.log import Log
from callboard.board.context import BoardContext
from callboard.board.topology.reading import Reading, newest_start
from callboard.errors import TopicMissing
from callboard.messages.topics import control_topic
from callboard.messages.topology.cluster_state import ClusterState

Start = Callable[[Log, str], Awaitable[tuple[int, ClusterState]]]


async def current(board: BoardContext) -> Reading | None:
    """The reading that the board keeps, up to the end of the topic; None if the log has no control topic."""
    kept, topic = board.cluster, control_topic(board.settings.prefix)
    with suppress(TopicMissing):
        if kept is None or kept.log is not board.log or kept.log_id != await board.log.identity(topic):
            kept = board.cluster = await opened(board)
        if kept is not None:
            await kept.catch_up()
        return kept
    return None


async def opened(board: BoardContext, start: Start = newest_start) -> Reading | None:
    """A new reading from this start; nothing is read yet. None if the log has no control topic."""
    log, topic = board.log, control_topic(board.settings.prefix)
    with suppress(TopicMissing):
        return Reading(log, topic, await log.identity(topic), *await start(log, topic))
    return None
