"""Readings of a board's control topic."""

from callboard.board.context import BoardContext
from callboard.board.topology.reading import Reading, newest_start, oldest_start
from callboard.errors import TopicMissing
from callboard.messages.topics import control_topic


async def current(board: BoardContext) -> Reading | None:
    """The reading that the board keeps, up to the end of the topic; None if the log has no control topic."""
    kept, topic = board.cluster, control_topic(board.settings.prefix)
    try:
        if kept is None or kept.log is not board.log or kept.log_id != await board.log.identity(topic):
            kept = board.cluster = await newest_reading(board)
        if kept is not None:
            await kept.catch_up()
    except TopicMissing:
        return None
    return kept


async def newest_reading(board: BoardContext, recent: int = 0) -> Reading | None:
    """A new reading, from the newest snapshot that has ``recent`` offsets after it, or else from the first record.
    Nothing is read yet. None if the log has no control topic.
    """
    log, topic = board.log, control_topic(board.settings.prefix)
    try:
        return Reading(log, topic, await log.identity(topic), *await newest_start(log, topic, recent))
    except TopicMissing:
        return None


async def whole_reading(board: BoardContext) -> Reading | None:
    """The same, from the first retained record from which the state is known."""
    log, topic = board.log, control_topic(board.settings.prefix)
    try:
        return Reading(log, topic, await log.identity(topic), *await oldest_start(log, topic))
    except TopicMissing:
        return None
