"""A publisher's log: what its subscribers reported of its packages, read from the topics when somebody looks."""

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from callboard.app.views import shortened
from callboard.backends.log import READ_RECORDS_MAX, Log
from callboard.errors import SchemaTooNew, Undecodable
from callboard.messages.distribution import LogMessage
from callboard.messages.headers import open_record
from callboard.messages.package_event import PackageEvent, open_event
from callboard.messages.record import Record
from callboard.messages.topics import Topics

LINES_MAX = 1000
"""Lines that can be seen: the newest ones."""

OFFSETS_MAX = 50_000
"""So many of the newest offsets of a topic are read at most: on the discovery topic a line lies among announcements."""


@dataclass(frozen=True, slots=True)
class LogLine:
    """One line. ``details`` is a stack trace, for instance; ``subscriber`` is empty when it is about all of them."""

    time_ns: int
    level: str
    subscriber: str
    message: str
    details: str = ""


async def publisher_log(log: Log, topics: Topics, publisher: str, limit: int) -> list[LogLine]:
    """The newest lines, oldest first: errors that subscribers reported, and what became of packages."""
    reported = await _newest(log, topics.discovery, publisher, _reported)
    told = await _newest(log, topics.event, publisher, _told)
    lines = sorted((*reported, *told), key=lambda line: line.time_ns)
    return lines[-min(limit, LINES_MAX) :] if limit > 0 else []


async def _newest(
    log: Log, topic: str, publisher: str, line_of: Callable[[Record, str], LogLine | None]
) -> Iterable[LogLine]:
    """The newest lines that the topic has of the publisher."""
    lines = deque[LogLine](maxlen=LINES_MAX)
    first, end = await log.bounds(topic)
    start = max(first, end - OFFSETS_MAX)
    while start < end and (found := await log.read(topic, start, READ_RECORDS_MAX)):
        lines.extend(line for record in found if (line := line_of(record, publisher)) is not None)
        start = found[-1].offset + 1
    return lines


def _reported(record: Record, publisher: str) -> LogLine | None:
    if record.header("type") != LogMessage.__name__:
        return None
    try:
        said = open_record(record, LogMessage)
    except (Undecodable, SchemaTooNew) as error:
        return LogLine(record.time_ns, "warning", "", str(error))
    if said.publisher not in ("", publisher):
        return None
    level = "warning" if said.stacktrace else "info"
    return LogLine(record.time_ns, level, said.subscriber, said.message, said.stacktrace)


def _told(record: Record, publisher: str) -> LogLine | None:
    if record.header("publisher") != publisher:
        return None
    try:
        event = open_event(record)
    except (Undecodable, SchemaTooNew) as error:
        return LogLine(record.time_ns, "warning", "", str(error))
    if not isinstance(event, PackageEvent) or event.kind not in ("distributed", "failed"):
        return None
    package = f"package {event.package_id} at offset {event.offset}"
    if event.kind == "distributed":
        return LogLine(event.time_ns, "info", "", f"all subscribers have {package}: {shortened(event.paths)}")
    outcome = event.outcome.lower().replace("_", " ")
    return LogLine(event.time_ns, "warning", event.subscriber, f"{package}: {outcome}: {event.reason}")
