"""One record of the log: its headers, and its message or why that cannot be decoded."""

from callboard.board.read.log.log_records import in_a_line, opened, plain_record, record_at
from callboard.messages.topics import SORTS
from callboard.web.console.page import Question, Shown
from callboard.web.console.pages.log import topic_name


async def record(asked: Question) -> Shown:
    """The record at the topic and offset of the path."""
    short = asked.path["topic"]
    topic = topic_name(asked, short)
    found = await record_at(asked.board.log, topic, asked.number("offset"))
    event = opened(found)
    line, data = in_a_line(found, event), plain_record(topic, found, event)
    return {"topic": short, "line": line, "data": data, "is_package": short == SORTS[0]}
