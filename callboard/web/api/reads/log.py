"""Questions about the records on the log."""

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Required

from typing_extensions import TypedDict  # which pydantic wants, and brings, below Python 3.12

from callboard.board.page import Page
from callboard.board.read.log.log_records import LoggedRecord, record_data
from callboard.board.read.log.log_search import RecordFilter, listed
from callboard.board.read.log.log_topics import LOG_TOPICS, topic_of
from callboard.door.limits import ID_CHARS_MAX, OFFSET_MAX, PATTERN_CHARS_MAX
from callboard.messages.distribution.topic_messages import Kind
from callboard.web.api.parameters import AFTER, LIMIT, OF_PUBLISHER, choice, text, whole
from callboard.web.api.read import Read

if TYPE_CHECKING:
    from callboard.board.board import Callboard

TOPIC = choice("topic", "The topic.", *LOG_TOPICS)


class RecordDetails(TypedDict, total=False):
    """One record. It has its ``message``, or a ``problem`` that says why that cannot be decoded; a package that adds
    content has ``entries``, too.
    """

    topic: Required[str]
    offset: Required[int]
    time_ns: Required[int]
    length: Required[int]
    headers: Required[Mapping[str, str]]
    message: Mapping[str, Any]
    problem: str
    entries: tuple[Mapping[str, Any], ...]


async def _records(board: "Callboard", *, topic: str, limit: int, cursor: str = "", start: int | None = None,
                   text: str = "", **wanted: Any) -> Page[LoggedRecord]:  # fmt: skip
    """What others write can make a regular expression run for ever, so only text is searched for."""
    found = RecordFilter(**wanted, pattern=re.compile(re.escape(text)) if text else None)
    name, now_ns = topic_of(board.settings, topic), board.context.now_ns()
    return await listed(board.log, name, found, limit, now_ns, cursor=cursor, start=start)


async def _record(board: "Callboard", *, topic: str, offset: int) -> dict[str, Any]:
    return await record_data(board.log, board.blobs, topic_of(board.settings, topic), offset)


LOG = (
    Read("log_list", "/log/{topic}",
         "The newest records of a topic, or those from an offset on, oldest first; those that cannot be decoded too.",
         Page[LoggedRecord], _records,
         (TOPIC, OF_PUBLISHER, AFTER, LIMIT,
          choice("kind", "Only packages of this kind.", *(kind.name.lower() for kind in Kind)),
          text("path", "Only with a path that matches, such as /blog/*.", PATTERN_CHARS_MAX),
          text("user", "Only requested by this user.", ID_CHARS_MAX),
          text("text", "Only with this in a path, a name, an id or a reason.", ID_CHARS_MAX),
          whole("since_ns", "Only from this time on, in nanoseconds since the epoch.", 0, OFFSET_MAX),
          whole("until_ns", "Only before this time.", 0, OFFSET_MAX),
          whole("from", "Begin with this offset; default: the newest.", 0, OFFSET_MAX, to="start"))),
    Read("log_show", "/log/{topic}/{offset}", "One record: headers, message, and the content of a package.",
         RecordDetails, _record, (TOPIC, whole("offset", "Of the record.", 0, OFFSET_MAX))),
)  # fmt: skip
