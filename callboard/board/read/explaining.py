"""Explains the state of a path at a subscriber: which package brought it, and what became of newer ones."""

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from callboard.backends.blob_store import BlobStore
from callboard.backends.log import Log
from callboard.backends.logs.walk import backwards, newest
from callboard.backends.repositories.paths import with_parents
from callboard.board.context import BoardContext
from callboard.board.read.log.log_records import entries_of, opened
from callboard.content.importing.admission import patterns_of
from callboard.door.questions import asked
from callboard.errors import BlobError, CallboardError, PackageError, SchemaTooNew
from callboard.messages.distribution.topic_messages import (
    DiscoveryMessage,
    Kind,
    PackageMessage,
    PackageStatusMessage,
    State,
    Status,
)
from callboard.messages.event import Event
from callboard.messages.headers import addressed, addressees, may_be_by, told_in
from callboard.messages.record import Record
from callboard.messages.repeated import original_of

LOOK_BACK = 100_000
"""Limit of records read backwards from the end of a topic; the answer says how far it looked."""

TOUCHING_BACK = 20_000
"""The same for packages that touch a path: half a second's work."""

LATER_MAX = 20
"""Newer packages listed one by one."""

LEFT_OUT = {
    Status.REMOVED_FAILED: "given up",
    Status.REMOVED: "cleared",
    Status.SKIPPED: "skipped",
    Status.HELD: "quarantined",
}
"""Why a package's content may be missing. SUPERSEDED: a later package brings all of it."""

WAITING = {State.IMPORTING: "is being imported or next", State.IDLE: "is next", State.STARTING: "is next"}
"""The state of the package at the head, if the announcement says no more."""


@dataclass(frozen=True, slots=True)
class Involved:
    """A package that concerns the path. ``fate`` says what it did to it, or why it did nothing."""

    offset: int
    package_id: str
    publisher: str
    user: str
    kind: str
    time_ns: int
    fate: str


@dataclass(frozen=True, slots=True)
class Explanation:
    """``brought`` is the package that the path, or its absence, comes from; ``newer`` are later ones that concern it.

    Everything from the offset ``looked_back_to`` on was read; without ``brought``, the answer lies before it.
    """

    subscriber: str
    path: str
    offset: int
    brought: Involved | None
    newer: tuple[Involved, ...]
    looked_back_to: int


@dataclass(frozen=True, slots=True)
class Touching:
    """The newest packages that bring the path or remove it, newest first, of all from ``looked_back_to`` on."""

    path: str
    packages: tuple[Involved, ...]
    looked_back_to: int


async def explain(
    log: Log, blobs: BlobStore, package: str, status: str, said: DiscoveryMessage, path: str
) -> Explanation:
    """Read the log backwards to the package that brought the path."""
    statuses = await statuses_of(log, status, said.subscriber)
    about: list[tuple[Record, Event | CallboardError]] = []
    waiting = list[int]()
    brought: Involved | None = None
    first, end = await log.bounds(package)
    low = max(first, min(end, said.offset + 1) - LOOK_BACK)
    reached = end
    admitted = patterns_of(said.configuration).admits(path)
    async for record in backwards(log, package, low, end):
        reached = record.offset
        if len(about) == LATER_MAX and not _may_concern(record, said):
            continue
        event = opened(record)
        if isinstance(event, PackageMessage):
            if record.offset > said.offset and _concerns(event, said):
                waiting.append(record.offset)
            if not _touches(event, path):
                continue
            if admitted and record.offset <= said.offset and not leaves_out(record.offset, event, said, statuses):
                brought = _involved(record, event, await _effect(event, blobs, path))
                break
        if len(about) < LATER_MAX:
            about.append((record, event))
    queue = {offset: position for position, offset in enumerate(reversed(waiting))}
    newer = [_newer(record, event, said, statuses, queue, admitted=admitted) for record, event in reversed(about)]
    looked_back_to = reached if brought else low
    return Explanation(said.subscriber, path, said.offset, brought, tuple(newer), looked_back_to)


async def touching(board: BoardContext, path: str, *, limit: int = 10) -> Touching:
    """The newest packages, up to ``limit``, that bring the path or remove it. Raises ``RequestRefused``."""
    asked(path=path, limit=limit)
    topic, found = board.topics.package, list[Involved]()
    first, end = await board.log.bounds(topic)
    reached = low = max(first, end - TOUCHING_BACK)
    async for record in backwards(board.log, topic, low, end):
        event = opened(record)
        if isinstance(event, PackageMessage) and _touches(event, path):
            found.append(_involved(record, event, ""))
            if len(found) >= limit:
                reached = record.offset
                break
    return Touching(path, tuple(found), reached)


def _newer(
    record: Record,
    event: Event | CallboardError,
    said: DiscoveryMessage,
    statuses: Mapping[int, PackageStatusMessage],
    queue: Mapping[int, int],
    *,
    admitted: bool,
) -> Involved:
    if not isinstance(event, PackageMessage):
        event = event if isinstance(event, CallboardError) else PackageError("it is not a package")
        what = f"cannot be decoded, and may be about anything: {event}"
        return Involved(record.offset, "", record.header("publisher"), "", "", record.time_ns, what)
    if reason := leaves_out(record.offset, event, said, statuses):
        return _involved(record, event, reason)
    if not admitted:
        return _involved(record, event, "does not apply: the subscriber's include and exclude leave this path out")
    position = queue.get(record.offset, 0)
    if position:
        return _involved(record, event, f"queued behind {position} more")
    reason = said.reason or said.last_error
    state = WAITING.get(said.state) or f"is next; the subscriber is {said.state.name.lower()}"
    return _involved(record, event, f"{state}: {reason}" if reason else state)


def leaves_out(
    offset: int, message: PackageMessage, said: DiscoveryMessage, statuses: Mapping[int, PackageStatusMessage]
) -> str:
    """Why the subscriber left the package out, or will; empty if it does not."""
    follows = said.configuration.follows
    if follows and message.publisher not in follows:
        return f"not followed: the subscriber follows {', '.join(follows)}"
    if message.recipients and said.subscriber not in addressees(message.recipients):
        return f"not for it, but for {', '.join(message.recipients)} alone"
    status = statuses.get(offset)
    if status is not None and status.status is Status.SUPERSEDED:
        return "superseded: a later package brings all of it"
    if status is not None and status.status in LEFT_OUT:
        tries = f" after {status.attempts} attempts" if status.attempts else ""
        return f"{LEFT_OUT[status.status]}{tries}" + (f": {status.reason}" if status.reason else "")
    return ""


def _may_concern(record: Record, said: DiscoveryMessage) -> bool:
    """Whether the headers allow it to be a package for the subscriber."""
    headers, follows = told_in(record.headers), said.configuration.follows
    return (
        headers.get("type", "") in ("PackageMessage", "2")
        and (not follows or headers.get("publisher", "") in ("", *follows))
        and addressed(headers.get("recipients", ""), said.subscriber)
    )


def _concerns(message: PackageMessage, said: DiscoveryMessage) -> bool:
    return message.kind is not Kind.TEST and not leaves_out(-1, message, said, {})


def _touches(message: PackageMessage, path: str) -> bool:
    above = with_parents([path])
    if message.kind is Kind.DELETE:
        return not above.isdisjoint(message.paths)
    return message.kind is Kind.ADD and (path in message.paths or not above.isdisjoint(message.deep_paths))


async def _effect(message: PackageMessage, blobs: BlobStore, path: str) -> str:
    """What an imported package did to a path that it touches."""
    if message.kind is Kind.DELETE:
        return "removed it"
    try:
        with tempfile.TemporaryDirectory(prefix="callboard-explain-") as spool:
            entries = await entries_of(message, blobs, Path(spool))
    except (BlobError, PackageError, SchemaTooNew) as error:
        return f"brought or removed it; which is unknown: {error}"
    entry = next((entry for entry in entries if entry.path == path), None)
    if entry is None:
        return "removed it: its tree does not contain it"
    size = f", {entry.size} bytes, sha-256 {entry.digest[:16]}..." if entry.digest else ""
    return f"brought it: {entry.form.name.lower()}, mode {entry.mode:o}{size}"


def _involved(record: Record, message: PackageMessage, fate: str) -> Involved:
    return Involved(
        record.offset,
        message.package_id,
        message.publisher,
        message.user,
        message.kind.name,
        record.time_ns,
        fate,
    )


async def statuses_of(log: Log, topic: str, subscriber: str) -> dict[int, PackageStatusMessage]:
    """The subscriber's last status of each package, within the limit of records read."""
    found: dict[int, PackageStatusMessage] = {}
    async for record in newest(log, topic, LOOK_BACK):
        event = opened(record) if may_be_by(record, subscriber) else None
        if isinstance(event, PackageStatusMessage) and event.subscriber == subscriber:
            known = original_of(record) is not None and event.offset in found
            found[event.offset] = found[event.offset] if known else event
    return found
