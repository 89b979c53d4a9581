"""Decodes the records of the log for display."""

import tempfile
from dataclasses import asdict, dataclass
from enum import Enum
from pathlib import Path
from typing import Any

from callboard.backends.blob_store import BlobStore
from callboard.backends.log import Log
from callboard.backends.logs.limits import record_bytes
from callboard.board.read.log import job_wording
from callboard.board.topology.wording import about
from callboard.board.views import shortened
from callboard.content.package_format.compression import Content, manifest_of
from callboard.content.package_format.manifest import ManifestEntry, read_roots
from callboard.errors import BlobError, CallboardError, OffsetOutOfRange, PackageError, SchemaTooNew, Undecodable
from callboard.messages.distribution.on_topics import ON_TOPICS
from callboard.messages.distribution.package_event import TYPES, EventMarks, PackageEvent, open_event
from callboard.messages.distribution.topic_messages import (
    ArchivedMessage,
    CommandMessage,
    CommandResultMessage,
    DiscoveryMessage,
    ForgottenMessage,
    Kind,
    LogMessage,
    PackageMessage,
    PackageStatusMessage,
    ThrottledMessage,
)
from callboard.messages.entities.entity_messages import FoldAnnouncementMessage
from callboard.messages.event import Event
from callboard.messages.events.event_messages import (
    EVENT_MESSAGES,
    LISTENER_MESSAGES,
    EventPublishedMessage,
    ListenersMessage,
)
from callboard.messages.headers import open_record
from callboard.messages.jobs.job_messages import JOB_MESSAGES
from callboard.messages.jobs.limits import check_message
from callboard.messages.reading import Unread
from callboard.messages.reading import read as read_checked
from callboard.messages.record import Record
from callboard.messages.topology.control_messages import CONTROL_MESSAGES
from callboard.messages.topology.member_event import MemberEvent
from callboard.messages.topology.reading import read

CONTROL_TYPES = frozenset(message.__name__ for message in CONTROL_MESSAGES)
JOB_TYPES = frozenset(message.__name__ for message in JOB_MESSAGES)

EVENTS = (*(each.cls for each in ON_TOPICS), *EVENT_MESSAGES, *LISTENER_MESSAGES, FoldAnnouncementMessage)
"""Every message that may be on a topic, except those of the event topic, the control topic and the job topic."""


@dataclass(frozen=True, slots=True)
class LoggedRecord:
    """A record in one line. ``length`` includes the blobs that it refers to; ``about`` summarises the message, and
    ``problem`` says why it cannot be decoded.
    """

    offset: int
    time_ns: int
    type: str
    length: int
    about: str
    problem: str = ""


async def record_at(log: Log, topic: str, offset: int) -> Record:
    """The record. Raises ``OffsetOutOfRange`` if there is none at this offset."""
    found = await log.read(topic, offset, 1)
    if not found or found[0].offset != offset:
        first, end = await log.bounds(topic)
        raise OffsetOutOfRange(topic, offset, first, end)
    return found[0]


def opened(record: Record) -> Event | CallboardError:
    """The decoded message, or the error that prevents it."""
    if record.header("type") in CONTROL_TYPES:
        said: Event | Unread = read(record)
        return Undecodable(said.detail) if isinstance(said, Unread) else said
    if record.header("type") in JOB_TYPES:
        said = read_checked(record, JOB_MESSAGES, check_message)
        return Undecodable(said.detail) if isinstance(said, Unread) else said
    try:
        return open_event(record) if record.header("type") in TYPES else open_record(record, EVENTS)
    except (Undecodable, SchemaTooNew) as error:
        return error


def plain_record(topic: str, record: Record, event: Event | CallboardError) -> dict[str, Any]:
    """A record as plain data: headers, and the message or the problem; content is given by its length."""
    data: dict[str, Any] = {
        "topic": topic,
        "offset": record.offset,
        "time_ns": record.time_ns,
        "length": record_bytes(record),
        "headers": dict(record.headers),
    }
    if isinstance(event, CallboardError):
        return data | {"problem": str(event)}
    return data | {"message": _plain(asdict(event))}


async def record_data(log: Log, blobs: BlobStore, topic: str, offset: int) -> dict[str, Any]:
    """One whole record as plain data: headers, message, and the entries of a package.

    Raises ``OffsetOutOfRange`` if there is no record at this offset.
    """
    record = await record_at(log, topic, offset)
    event = opened(record)
    data = plain_record(topic, record, event)
    if isinstance(event, PackageMessage) and event.kind is Kind.ADD:
        try:
            with tempfile.TemporaryDirectory(prefix="callboard-record-") as spool:
                data["entries"] = [_plain(asdict(entry)) for entry in await entries_of(event, blobs, Path(spool))]
        except (PackageError, BlobError, SchemaTooNew) as error:
            data["problem"] = str(error)
    return data


def in_a_line(record: Record, event: Event | CallboardError) -> LoggedRecord:
    """The record in one line."""
    kind, length = record.header("type"), record_bytes(record)
    if isinstance(event, CallboardError):
        return LoggedRecord(record.offset, record.time_ns, kind, length, "", str(event))
    if isinstance(event, PackageMessage):
        length += event.fetched_bytes - len(event.content)
    return LoggedRecord(record.offset, record.time_ns, kind, length, _about(event))


def _about(event: Event) -> str:  # noqa: PLR0911, PLR0912 - one line a message
    match event:
        case PackageMessage():
            only = f" for {', '.join(event.recipients)} alone" if event.recipients else ""
            return f"{event.publisher}: {event.kind.name} {shortened(event.paths)}{only}"
        case PackageStatusMessage():
            reason = f": {event.reason}" if event.reason else ""
            return f"{event.subscriber}: {event.status.name} {event.offset}{reason}"
        case DiscoveryMessage():
            return f"{event.subscriber}: {event.state.name} at {event.offset} {event.reason}".rstrip()
        case CommandMessage():
            return f"{event.author} to {event.subscriber}: {command_in_words(event)} {event.reason}".rstrip()
        case CommandResultMessage():
            outcome = "accepted" if event.accepted else "refused"
            return f"{event.subscriber}: {outcome} the command at {event.command_offset} {event.reason}".rstrip()
        case ForgottenMessage():
            return f"{event.author} forgets {event.subscriber} {event.reason}".rstrip()
        case ThrottledMessage():
            return f"{event.publisher}: " + (f"held up by {event.subscriber}" if event.subscriber else "not held up")
        case ArchivedMessage():
            return "archived: " + ", ".join(f"{archived.topic} below {archived.next}" for archived in event.topics)
        case FoldAnnouncementMessage():
            state = "has ended" if event.ended else f"is {event.state}"
            return f"{event.kind} {event.name} on {event.instance} {state} {event.problem}".rstrip()
        case MemberEvent():
            return about(event)
        case LogMessage():
            return f"{event.subscriber}: {event.message}"
        case PackageEvent(subscriber=""):
            return f"{event.publisher}: {event.offset} is {event.kind}"
        case PackageEvent():
            return f"{event.publisher}: {event.offset} {event.kind} at {event.subscriber} {event.reason}".rstrip()
        case EventPublishedMessage():
            return f"{event.instance}: {event.topic}"
        case ListenersMessage():
            return ", ".join(f"{mark.name} has handled all below {mark.next}" for mark in event.marks)
        case EventMarks():
            return f"{event.publisher}: " + ", ".join(f"{mark.kind} below {mark.offset}" for mark in event.marks)
        case _:
            return job_wording.about(event)


def command_in_words(command: CommandMessage) -> str:
    """The command's name, and its offset if that matters."""
    for name, details in command.kinds.items():
        offset = getattr(details, "offset", -1)
        return f"{name} {'up to ' if name == 'clear' else ''}{offset}" if offset >= 0 else name
    return "a command that this version does not know"


async def entries_of(package: PackageMessage, blobs: BlobStore, spool: Path) -> list[ManifestEntry]:
    """The entries of the package's manifest; a large package is downloaded to ``spool``."""
    content: Content = await blobs.fetch(package.content_ref, spool) if package.content_ref else package.content
    with manifest_of(content) as (header, file):
        list(read_roots(file, header.roots))
        return [ManifestEntry.read(file) for _ in range(header.entries)]


def _plain(value: Any) -> Any:
    """Convert to JSON types: enums by name, bytes by length, tuples as lists; without fields of other versions."""
    match value:
        case Enum():
            return value.name
        case bytes():
            return f"{len(value)} bytes"
        case dict():
            return {key: _plain(item) for key, item in value.items() if key != "unknown"}
        case list() | tuple():
            return [_plain(item) for item in value]
        case _:
            return value
