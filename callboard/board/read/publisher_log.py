"""A publisher's log: what subscribers reported of its packages, read from the topics on demand."""

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial

from callboard.backends.log import Log
from callboard.backends.logs.walk import newest
from callboard.board.views import shortened
from callboard.errors import SchemaTooNew, Undecodable
from callboard.messages.distribution.package_event import PackageEvent, open_event
from callboard.messages.distribution.topic_messages import CommandResultMessage, LogMessage, PackageStatusMessage
from callboard.messages.headers import open_record
from callboard.messages.record import Record
from callboard.messages.topics import Topics

LINES_MAX = 1000
"""Limit of lines: the newest ones."""

OFFSETS_MAX = 50_000
"""Limit of offsets read per topic, from the end: on the discovery topic, lines are scattered among announcements."""


LOST = {"REMOVED_FAILED": "given up", "HELD": "held", "REMOVED": "cleared", "SKIPPED": "skipped"}
"""The statuses of a package whose content a subscriber does not have."""

Without = Mapping[int, Mapping[str, str]]
"""By offset, the subscribers that do not have a package, each with its status."""


@dataclass(frozen=True, slots=True)
class LogLine:
    """One line. ``details`` is a stack trace, for instance; ``subscriber`` is empty if it is about all of them."""

    time_ns: int
    level: str
    subscriber: str
    message: str
    details: str = ""


async def publisher_log(log: Log, topics: Topics, publisher: str, limit: int) -> list[LogLine]:
    """The newest lines, oldest first: errors that subscribers reported, and what became of packages."""
    reported = await _newest(log, topics.discovery, publisher, _reported)
    without = await _without(log, topics.status, publisher)
    written = await _newest(log, topics.event, publisher, partial(_written, without))
    lines = sorted((*reported, *written), key=lambda line: line.time_ns)
    return lines[-min(limit, LINES_MAX) :] if limit > 0 else []


async def _newest(
    log: Log, topic: str, publisher: str, line_of: Callable[[Record, str], LogLine | None]
) -> Iterable[LogLine]:
    """The newest lines about the publisher on this topic."""
    lines = deque[LogLine](maxlen=LINES_MAX)
    async for record in newest(log, topic, OFFSETS_MAX):
        if (line := line_of(record, publisher)) is not None:
            lines.append(line)
    return lines


async def _without(log: Log, topic: str, publisher: str) -> Without:
    """By offset, subscribers that passed a package of the publisher without having it; each one's last status holds."""
    without = defaultdict[int, dict[str, str]](dict)
    concerned = set[str]()  # most statuses tell of an import at one that has everything
    async for record in newest(log, topic, OFFSETS_MAX):
        subscriber = (record.header("producer") or "").partition("/")[0]
        if record.header("kind") not in LOST and subscriber not in concerned:
            continue
        try:
            said = open_record(record, (PackageStatusMessage, CommandResultMessage))
        except (Undecodable, SchemaTooNew):
            continue  # the topic's reader reports it
        if not isinstance(said, PackageStatusMessage) or said.publisher != publisher:
            continue
        without[said.offset].pop(said.subscriber, None)
        if said.status.name in LOST:
            concerned.add(subscriber)
            without[said.offset][said.subscriber] = LOST[said.status.name]
    return without


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


def _written(without: Without, record: Record, publisher: str) -> LogLine | None:
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
        return _distributed(event, package, without.get(event.offset, {}))
    outcome = event.outcome.lower().replace("_", " ")
    return LogLine(event.time_ns, "warning", event.subscriber, f"{package}: {outcome}: {event.reason}")


def _distributed(event: PackageEvent, package: str, without: Mapping[str, str]) -> LogLine:
    """A line saying that all are past it; they have it, except where the status says otherwise."""
    paths = shortened(event.paths)
    if not without:
        return LogLine(event.time_ns, "info", "", f"all subscribers have {package}: {paths}")
    who = ", ".join(f"{subscriber} ({outcome})" for subscriber, outcome in sorted(without.items()))
    text = f"all subscribers are past {package}: {paths}; but not all have it: {who}"
    return LogLine(event.time_ns, "warning", "", text)
