"""Finds the blobs that no record needs, retained or archived, and removes them: mark and sweep, with a grace period.

It needs no lock against publishers, because of the order of its steps:

1. list the blobs last put longer than ``grace_s`` ago; all others are kept, referenced or not;
2. read the whole log, and the archive below it, and keep every blob that a record refers to;
3. remove the rest, each unless it was put again since it was listed.

A publisher first puts every blob, which renews its time, and then appends the package. If it appended the package
before step 2 read that place, the package is seen there. If it did so later, it put the blobs at most one build
earlier; the grace period is longer than any build, so step 1 or step 3 keeps them. Nothing is stored between runs, so
concurrent or killed runs do no harm.
"""

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, replace

from callboard.backends.blob_store import BlobStore
from callboard.backends.log import Log
from callboard.backends.logs.walk import between
from callboard.errors import SchemaTooNew, Undecodable
from callboard.messages.distribution.on_topics import classes_on
from callboard.messages.distribution.topic_messages import CommandResultMessage, PackageMessage, PackageStatusMessage
from callboard.messages.event import Event
from callboard.messages.headers import SCHEMA_VERSION, RecordHeaders, open_record
from callboard.messages.record import Record
from callboard.messages.untrusted import UNTRUSTED

GRACE_S = 24 * 3600.0
"""Longer than the longest build of a package plus the clock difference between two hosts."""

GRACE_MIN_S = 2 * 3600.0
"""The minimum that may be configured: a clock off by an hour, such as by a wrong time zone, must do no harm."""

BATCH_BLOBS = 500_000
"""Candidates in memory at a time, about 150 bytes each. The log is read once for each batch."""

Archived = Callable[[str, int], AsyncIterator[Record]]
"""The archived records of a topic below an offset. Raises ``ArchiveHole`` unless they reach up to it."""

OF_STATUS = classes_on("status")
"""The types of the status topic; a record of an unknown type may refer to blobs."""


@dataclass(frozen=True, slots=True)
class BlobCollection:
    """The result of a collection.

    ``unused`` blobs with ``unused_bytes`` are not referenced; ``removed`` of them are gone. If there is a ``problem``,
    no blob was removed after it appeared.
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
        blobs: used by this log only.
        package: the topic of packages.
        status: the topic of statuses.
        grace_s: blobs put within the last ``grace_s`` seconds are kept.
        now_ns: the current time.
        delete: if not set, nothing is changed.
        archived: reads the archive, if there is one: its records can be replayed only with their blobs.
        batch: how many candidates to check at a time.
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
    """Drop referenced blobs from the candidates; return the problem if a record is unreadable: it may refer to any."""
    for topic, expected in ((package, (PackageMessage,)), (status, OF_STATUS)):
        async for record in roots.records(topic):
            if record.header("type") in (PackageStatusMessage.__name__, UNTRUSTED):
                continue  # most records of this topic; they refer to nothing
            try:
                event = open_record(record, expected)
            except (Undecodable, SchemaTooNew) as error:
                return f"topic {topic}: {error}; it may refer to any blob, so none is removed while it is there"
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
        return b""  # not the name of any blob


class _Roots:
    """The records that keep blobs: those of the log, and the archived ones below it."""

    def __init__(self, log: Log, archived: Archived | None) -> None:
        self._log, self._archived = log, archived

    async def records(self, topic: str) -> AsyncIterator[Record]:
        """All records, the log's first: it may be trimmed meanwhile, and trimmed records should be archived by then."""
        bounds, lost = await self._log.bounds(topic), list[tuple[int, int]]()
        async for record in between(self._log, topic, *bounds, lost):
            yield record
        if self._archived is not None:  # what was trimmed meanwhile needs nothing, unless archived
            async for record in self._archived(topic, lost[-1][1] if lost else bounds.first):
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
