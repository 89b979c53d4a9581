"""The records on the log: the newest as they come, or those that a search finds."""

import re
from contextlib import suppress
from datetime import UTC

from callboard.board.page import AsOf, Page
from callboard.board.read.log.log_records import LoggedRecord
from callboard.board.read.log.log_search import RecordFilter, listed
from callboard.door.moments import moment_ns
from callboard.door.rules import shown
from callboard.errors import RequestRefused, TopicMissing
from callboard.messages.distribution.topic_messages import Kind
from callboard.messages.topics import BROADCASTS, CONTROL, JOBS, LISTENERS, SORTS, TOPIC_NAME
from callboard.web.console.page import Question, Shown

ROWS = 50
SCANNED = 20_000
"""Records looked at for a page, half a second's work; the next page goes on from there."""

TOPICS = (*SORTS, CONTROL, JOBS, BROADCASTS, LISTENERS)
KINDS = tuple(kind.name.lower() for kind in Kind)
FIELDS = ("q", "publisher", "kind", "path", "user", "since", "until", "start")
FILTERS = frozenset({*FIELDS, "cursor"})
"""The parameters with which the page is a search."""


async def log(asked: Question) -> Shown:
    """A page of the records of a topic, the newest first; or from an offset on, the oldest first."""
    chosen = {"topic": asked.text("topic") or SORTS[0]} | {name: asked.text(name) for name in FIELDS}
    topic, now_ns = topic_name(asked, chosen["topic"]), asked.board.context.now_ns()
    start, cursor = asked.whole("start", 0) if chosen["start"] else None, asked.text("cursor")
    page = Page(
        items=tuple[LoggedRecord, ...](), as_of=AsOf(-1, now_ns), missing="nothing has written to this topic yet"
    )
    with suppress(TopicMissing):
        page = await listed(
            asked.board.log, topic, _filter(asked, now_ns), ROWS, now_ns, cursor=cursor, start=start, scan=SCANNED
        )
    rows = page.items if start is not None else page.items[::-1]
    offered = {"topics": TOPICS, "kinds": KINDS, "scanned": SCANNED, "per_page": ROWS}
    return {"chosen": chosen, "cursor": cursor, "page": page, "rows": rows, **offered}


def topic_name(asked: Question, short: str) -> str:
    """The topic's name on this board. Raises ``RequestRefused`` for one that no log can have."""
    name = f"{asked.board.settings.prefix}.{short}"
    if not TOPIC_NAME.fullmatch(name):
        raise RequestRefused(f"{shown(short)} is no topic; choose among {', '.join(TOPICS)}", code="not_found")
    return name


def _filter(asked: Question, now_ns: int) -> RecordFilter:
    text = asked.text("q")
    since_ns, until_ns = (
        moment_ns(at, now_ns, UTC) if (at := asked.text(name)) else None for name in ("since", "until")
    )
    return RecordFilter(
        publisher=asked.text("publisher"),
        kind=asked.choice("kind", KINDS),
        path=asked.text("path"),
        user=asked.text("user"),
        since_ns=since_ns,
        until_ns=until_ns,
        pattern=re.compile(re.escape(text), re.IGNORECASE) if text else None,  # a pattern could take for ever
    )
