"""The topics of a log by the words that people use for them."""

from callboard.board.connect.settings import BoardSettings
from callboard.messages.topics import (
    BROADCASTS,
    CONTROL,
    JOBS,
    LISTENERS,
    SORTS,
    broadcast_topic,
    control_topic,
    job_topic,
    listener_topic,
)

OTHERS = {CONTROL: control_topic, JOBS: job_topic, BROADCASTS: broadcast_topic, LISTENERS: listener_topic}
LOG_TOPICS = (*SORTS, *OTHERS)


def topic_of(settings: BoardSettings, word: str) -> str:
    """The topic's name on this board."""
    named = OTHERS.get(word)
    return named(settings.prefix) if named else str(getattr(settings.topics, word))
