"""What a package brought or removed, and what that changed since the publisher's package before it."""

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from callboard.backends.blob_store import BlobStore
from callboard.backends.log import Log
from callboard.backends.logs.walk import backwards
from callboard.backends.repositories.paths import with_parents
from callboard.board.context import BoardContext
from callboard.board.read.log.log_records import entries_of, record_at
from callboard.board.read.packages.fates import package_in
from callboard.content.package_format.manifest import Form, ManifestEntry
from callboard.door.questions import asked
from callboard.errors import BlobError, CallboardError, PackageError, RequestRefused, SchemaTooNew
from callboard.messages.distribution.topic_messages import Kind, PackageMessage
from callboard.messages.record import Record

BYTES_MAX = 64 << 20
"""A larger package is not read for display: it would be downloaded, and its list of files alone has megabytes."""

LOOK_BACK = 5_000
"""Limit of packages read backwards in search of the one before."""

Change = Literal["new", "changed", "same", "removed", ""]


@dataclass(frozen=True, slots=True)
class ContentRow:
    """A path that a package brought or removed. ``change`` is against the package before; empty if that is unknown."""

    path: str
    what: str
    size: int = 0
    mode: int = 0
    target: str = ""
    digest: str = ""
    change: Change = ""


@dataclass(frozen=True, slots=True)
class PackageContent:
    """The content of a package; ``before`` is the offset of the one it is compared with, -1 for none."""

    offset: int
    kind: str
    rows: tuple[ContentRow, ...]
    before: int = -1
    problem: str = ""


async def package_content(board: BoardContext, offset: int) -> PackageContent:
    """The content of the package at this offset. Raises ``OffsetOutOfRange`` if the log does not have it."""
    asked(offset=offset)
    log, topic, blobs = board.log, board.topics.package, board.blobs
    message = package_in(await record_at(log, topic, offset))
    if not isinstance(message, PackageMessage):
        return PackageContent(offset, "undecodable", (), problem=str(message))
    try:
        now = await _entries(message, blobs)
    except CONTENT_ERRORS as error:
        return PackageContent(offset, message.kind.name, (), problem=str(error))
    before = await _before(log, topic, offset, message.publisher)
    then: Mapping[str, ContentRow] = {}
    if before:
        try:
            then = await _entries(before[1], blobs)
        except CONTENT_ERRORS:
            before = None  # what it had is not known
    at = before[0].offset if before else -1
    rows = _compared(message, now, then) if before else tuple(now.values())
    return PackageContent(offset, message.kind.name, rows, at)


CONTENT_ERRORS = (BlobError, PackageError, RequestRefused, SchemaTooNew)


async def _before(log: Log, topic: str, offset: int, publisher: str) -> tuple[Record, PackageMessage] | None:
    """The publisher's package before this one that brought or removed something."""
    low = max((await log.bounds(topic)).first, offset - LOOK_BACK)
    async for record in backwards(log, topic, low, offset):
        if record.header("publisher") == publisher and record.header("kind") in ("ADD", "DELETE"):
            message = package_in(record)
            return None if isinstance(message, CallboardError) else (record, message)
    return None


async def _entries(message: PackageMessage, blobs: BlobStore) -> dict[str, ContentRow]:
    """By path. Raises ``CONTENT_ERRORS``."""
    if message.kind is not Kind.ADD:
        what = "removed" if message.kind is Kind.DELETE else ""
        return {path: ContentRow(path, what) for path in message.paths}
    if message.length > BYTES_MAX:
        raise RequestRefused(f"it has {message.length} bytes, too many to be listed here; use `callboard log show`")
    with tempfile.TemporaryDirectory(prefix="callboard-content-") as spool:
        entries = await entries_of(message, blobs, Path(spool))
    return {entry.path: _row(entry) for entry in entries if entry.form is not Form.KEEP}


def _row(entry: ManifestEntry) -> ContentRow:
    what = {Form.BLOB: "file", Form.GONE: "removed"}.get(entry.form, entry.form.name.lower())
    return ContentRow(entry.path, what, entry.size, entry.mode, entry.target, entry.digest)


def _compared(
    message: PackageMessage, now: Mapping[str, ContentRow], then: Mapping[str, ContentRow]
) -> tuple[ContentRow, ...]:
    """The rows with their changes, and those that this package removed because its trees do not have them."""
    then = {path: row for path, row in then.items() if row.what != "removed"}
    rows = [replace(row, change=_change(row, then.get(row.path))) for row in now.values()]
    trees = set(message.deep_paths)
    gone = (each for path, each in then.items() if path not in now and not trees.isdisjoint(with_parents([path])))
    rows += [ContentRow(each.path, each.what, change="removed") for each in gone]
    return tuple(sorted(rows, key=lambda row: row.path))


def _change(row: ContentRow, then: ContentRow | None) -> Change:
    if row.what == "removed":
        return "removed"
    return "new" if then is None else "same" if then == row else "changed"
