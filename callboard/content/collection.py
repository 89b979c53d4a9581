"""Finds the blobs that no record needs, retained or archived, and removes them: mark and sweep, with a period of grace.

The order of reading is what makes it safe beside publishers, without any lock:

1. list the blobs that were last put longer than ``grace_s`` ago; the others are spared, whoever needs them;
2. then read the whole of the log, and of the archive what comes before it, and spare what a record refers to;
3. then remove what is left, each unless it was put again since it was listed.

A publisher first puts every blob, which renews its time, and then appends the package. If the package was appended
before step 2 came to its place, it is seen there. If later, its blobs were put less than the longest build before
that, and thus, as the grace is longer, are spared by step 1 or step 3. Nothing is remembered between two
runs, so that two at once, or one that was killed anywhere, do no harm.
"""

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, replace

from callboard.backends.blob_store import BlobStore
from callboard.backends.log import Log
from callboard.errors import OffsetOutOfRange, SchemaTooNew, Undecodable
from callboard.messages.distribution.on_topics import classes_on
from callboard.messages.distribution.topic_messages import CommandResultMessage, PackageMessage, PackageStatusMessage
from callboard.messages.event import Event
from callboard.messages.headers import SCHEMA_VERSION, RecordHeaders, open_record
from callboard.messages.record import Record
from callboard.messages.untrusted import UNTRUSTED

GRACE_S = 24 * 3600.0
"""Longer than any build of a package takes, and than the clocks of two hosts differ."""

GRACE_MIN_S = 2 * 3600.0
"""Nobody may choose less: clocks that are off by an hour, as by a wrong time zone, must do no harm."""

BATCH_BLOBS = 500_000
"""Candidates in memory at a time, about 150 bytes each. For each batch the log is read once."""

Archived = Callable[[str, int], AsyncIterator[Record]]
"""The archived records of a topic below an offset. Raises ``ArchiveHole`` unless they reach up to it."""

OF_STATUS = classes_on("status")
"""What is on the status topic; a type that is not known may refer to blobs."""


@dataclass(frozen=True, slots=True)
class BlobCollection:
    """What was found and done.

    ``unused`` blobs with ``unused_bytes`` are referred to by nothing; ``removed`` of them are gone. With a ``problem``
    none was removed since it appeared.
    """

    blobs: int = 0
    length: int = 0
    unused: int = 0
    unused_bytes: int = 0
    removed: int = 0
    removed_bytes: int = 0
    problem: str = ""


async def collect(
    log: Log,
    blobs: BlobStore,
    *,
    package: str,
    status: str,
    grace_s: float,
    now_ns: int,
    delete: bool,
    archived: Archived | None = None,
    batch: int = BATCH_BLOBS,
) -> BlobCollection:
    """Find the unused blobs, and with ``delete`` remove them.

    Args:
        log: open; its packages refer to blobs, and so do results of commands on the status topic.
        blobs: nothing but this log refers to what is in this store.
        package: the topic of packages.
        status: the topic of statuses.
        grace_s: blobs that were put within these seconds are spared.
        now_ns: the time.
        delete: otherwise nothing is changed.
        archived: if there is an archive, whose records can be replayed only with their blobs.
        batch: how many candidates are looked at together.
    """
    done, roots = BlobCollection(), _Roots(log, archived)
    since_ns = now_ns - int(grace_s * 1e9)
    candidates: dict[bytes, int] = {}
    async for blob in blobs.list():
        done = replace(done, blobs=done.blobs + 1, length=done.length + blob.size)
        if blob.stored_ns < since_ns and not done.problem:
            candidates[bytes.fromhex(blob.digest)] = blob.size
        if len(candidates) >= batch:
            done = replace(done, problem=await _spare(roots, package, status, candidates))
            done = await _sweep(blobs, candidates, since_ns, done, delete=delete)
            candidates = {}
    if candidates:
        done = replace(done, problem=await _spare(roots, package, status, candidates))
        done = await _sweep(blobs, candidates, since_ns, done, delete=delete)
    return done


async def _spare(roots: "_Roots", package: str, status: str, candidates: dict[bytes, int]) -> str:
    """Take what a record refers to from the candidates; or say which record cannot be read, for it may refer to any."""
    for topic, expected in ((package, (PackageMessage,)), (status, OF_STATUS)):
        async for record in roots.records(topic):
            if record.header("type") in (PackageStatusMessage.__name__, UNTRUSTED):
                continue  # most of its topic, and refers to nothing
            try:
                event = open_record(record, expected)
            except (Undecodable, SchemaTooNew) as error:
                return f"topic {topic}: {error}; it may need any blob, so none is removed while it is there"
            if topic == package and RecordHeaders.parse(record.headers).version > SCHEMA_VERSION:
                return f"topic {topic}: the record at offset {record.offset} is of a newer version; upgrade callboard"
            for digest in _references(event):
                candidates.pop(_binary(digest), None)
    return ""


def _references(event: Event) -> tuple[str, ...]:
    match event:
        case PackageMessage(content_ref=reference, blobs=blobs):
            return (reference, *blobs)
        case CommandResultMessage(listing_ref=reference):
            return (reference,)
        case _:
            return ()


def _binary(digest: str) -> bytes:
    try:
        return bytes.fromhex(digest)
    except ValueError:
        return b""  # no blob has this name


class _Roots:
    """What keeps blobs: the records of the log, and those of the archive that come before."""

    def __init__(self, log: Log, archived: Archived | None) -> None:
        self._log, self._archived = log, archived

    async def records(self, topic: str) -> AsyncIterator[Record]:
        """All records; the log's come first, for it may be trimmed, and what is gone by then is to be archived."""
        first, end = await self._log.bounds(topic)
        start = first
        while start < end:
            try:
                found = await self._log.read(topic, start)
            except OffsetOutOfRange as error:  # trimmed meanwhile: what is gone needs nothing, unless it is archived
                if error.first <= start:
                    raise
                first = start = error.first
                continue
            for record in found:
                yield record
            start = found[-1].offset + 1 if found else end
        if self._archived is not None:
            async for record in self._archived(topic, first):
                yield record


async def _sweep(
    blobs: BlobStore, unused: dict[bytes, int], since_ns: int, done: BlobCollection, *, delete: bool
) -> BlobCollection:
    if done.problem:
        return done
    removed = [digest for digest in unused if delete and await blobs.delete_unless_renewed(digest.hex(), since_ns)]
    return replace(
        done,
        unused=done.unused + len(unused),
        unused_bytes=done.unused_bytes + sum(unused.values()),
        removed=done.removed + len(removed),
        removed_bytes=done.removed_bytes + sum(unused[digest] for digest in removed),
    )
