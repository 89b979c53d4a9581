"""The records of the log, decoded for people."""

import io
from collections.abc import AsyncIterator
from dataclasses import asdict, dataclass
from enum import Enum
from pathlib import Path
from typing import Any

from callboard.app.views import shortened
from callboard.backends.blob_store import BlobStore
from callboard.backends.log import READ_RECORDS_MAX, Log
from callboard.backends.logs.limits import record_bytes
from callboard.content.manifest import Header, ManifestEntry, read_roots
from callboard.errors import BlobError, OffsetOutOfRange, PackageError, SchemaTooNew, Undecodable
from callboard.messages.distribution import (
    CommandMessage,
    DiscoveryMessage,
    Kind,
    LogMessage,
    PackageDistributedMessage,
    PackageMessage,
    PackageStatusMessage,
    PingMessage,
)
from callboard.messages.event import Event
from callboard.messages.headers import open_record
from callboard.messages.record import Record

EVENTS = (
    PackageMessage,
    PackageStatusMessage,
    DiscoveryMessage,
    CommandMessage,
    PingMessage,
    LogMessage,
    PackageDistributedMessage,
)
"""Whatever may be on a topic."""


@dataclass(frozen=True, slots=True)
class LoggedRecord:
    """A record in one line. ``about`` says what is in it; ``problem`` why it cannot be decoded."""

    offset: int
    time_ns: int
    type: str
    length: int
    about: str
    problem: str = ""


async def records(log: Log, topic: str, start: int, limit: int) -> AsyncIterator[LoggedRecord]:
    """The records from ``start`` on, ``limit`` at most. Raises ``OffsetOutOfRange`` as the log does."""
    while limit > 0 and (found := await log.read(topic, start, min(limit, READ_RECORDS_MAX))):
        for record in found:
            yield _in_a_line(record)
        start, limit = found[-1].offset + 1, limit - len(found)


async def newest_start(log: Log, topic: str, count: int) -> int:
    """From where on the newest ``count`` records are, counting gaps as records."""
    first, end = await log.bounds(topic)
    return max(first, end - count)


async def record_data(log: Log, blobs: BlobStore, topic: str, offset: int, spool: Path) -> dict[str, Any]:
    """All of one record, as plain data: headers, message, and the entries of a package.

    Raises ``OffsetOutOfRange`` if there is no record at this offset.
    """
    found = await log.read(topic, offset, 1)
    if not found or found[0].offset != offset:
        first, end = await log.bounds(topic)
        raise OffsetOutOfRange(topic, offset, first, end)
    record = found[0]
    data: dict[str, Any] = {
        "topic": topic,
        "offset": offset,
        "time_ns": record.time_ns,
        "length": record_bytes(record),
        "headers": dict(record.headers),
    }
    try:
        event = open_record(record, EVENTS)
    except (Undecodable, SchemaTooNew) as error:
        return data | {"problem": str(error)}
    data["message"] = _plain({name: value for name, value in asdict(event).items() if name != "unknown"})
    if isinstance(event, PackageMessage) and event.kind is Kind.ADD:
        try:
            data["entries"] = await _entries(event, blobs, spool)
        except (PackageError, BlobError, SchemaTooNew) as error:
            data["problem"] = str(error)
    return data


def _in_a_line(record: Record) -> LoggedRecord:
    kind = record.header("type")
    try:
        about = _about(open_record(record, EVENTS))
    except (Undecodable, SchemaTooNew) as error:
        return LoggedRecord(record.offset, record.time_ns, kind, record_bytes(record), "", str(error))
    return LoggedRecord(record.offset, record.time_ns, kind, record_bytes(record), about)


def _about(event: Event) -> str:  # noqa: PLR0911 - one line a message
    match event:
        case PackageMessage():
            return f"{event.publisher}: {event.kind.name} {shortened(event.paths)}"
        case PackageStatusMessage():
            reason = f": {event.reason}" if event.reason else ""
            return f"{event.subscriber}: {event.status.name} {event.offset}{reason}"
        case DiscoveryMessage():
            return f"{event.subscriber}: {event.state.name} at {event.offset} {event.reason}".rstrip()
        case CommandMessage(clear=clear):
            order = f"clear up to {clear.offset}" if clear else "a command that this version does not know"
            return f"{event.author} to {event.subscriber}: {order} {event.reason}".rstrip()
        case LogMessage():
            return f"{event.subscriber}: {event.message}"
        case PackageDistributedMessage():
            return f"{event.publisher}: everybody has {event.offset}"
        case _:
            return ""


async def _entries(package: PackageMessage, blobs: BlobStore, spool: Path) -> list[dict[str, Any]]:
    """The entries as the package's manifest has them."""
    content = package.content
    if package.content_ref:
        path = await blobs.fetch(package.content_ref, spool)
        content = path.read_bytes()
    file = io.BytesIO(content)
    header = Header.read(file)
    list(read_roots(file, header.roots))
    return [_plain(asdict(ManifestEntry.read(file))) for _ in range(header.entries)]


def _plain(value: Any) -> Any:
    """Enums by name, bytes by their length, tuples as lists: what JSON can say."""
    match value:
        case Enum():
            return value.name
        case bytes():
            return f"{len(value)} bytes"
        case dict():
            return {key: _plain(item) for key, item in value.items()}
        case list() | tuple():
            return [_plain(item) for item in value]
        case _:
            return value
