"""The archived part of a topic: the newest generation, and the manifests after it."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from callboard.archive.files import layout
from callboard.archive.files.manifest import (
    Generation,
    Hole,
    Link,
    Manifest,
    Segment,
    decode_generation,
    decode_manifest,
    digest,
)
from callboard.archive.store import ArchiveStore
from callboard.errors import ArchiveDamaged

GETS_AT_ONCE = 16
"""Manifests fetched concurrently: from a bucket, each takes tens of milliseconds."""


@dataclass(frozen=True, slots=True)
class Tip:
    """How far the archive of a topic reaches: the next record to archive, and the manifest before it."""

    log_id: str
    last: Link

    @property
    def next(self) -> int:
        """The first offset that is not archived."""
        return self.last.next


@dataclass(frozen=True, slots=True)
class TopicArchive:
    """The topic's records from ``first`` up to the tip, at one moment.

    A later compaction does not disturb readers of these files: they stay for a day. ``generation`` is the number of the
    compaction that wrote them, 0 before the first, and ``digest`` that of its document. ``manifests`` are those after
    it.
    """

    topic: str
    first: int
    tip: Tip
    files: tuple[Segment, ...]
    holes: tuple[Hole, ...]
    generation: int
    digest: str
    manifests: int

    @property
    def next(self) -> int:
        """The first offset that is not archived."""
        return self.tip.next

    @property
    def after_holes(self) -> int:
        """The offset after the last hole; every record from here to the tip is archived."""
        return self.holes[-1].next if self.holes else self.first

    @property
    def rows(self) -> int:
        """How many records there are."""
        return sum(file.rows for file in self.files)

    @property
    def length(self) -> int:
        """The total size of the files, in bytes."""
        return sum(file.length for file in self.files)


async def find_tip(store: ArchiveStore, topic: str) -> Tip | None:
    """How far the archive reaches; None without any of the topic. Reads only the newest documents."""
    generation, _ = await newest_generation(store, topic)
    names = await manifest_names(store, topic, generation.last.next if generation else 0)
    if names:
        content = await store.get(names[-1])
        found = decode_manifest(names[-1], content)
        return Tip(found.log_id, Link(next=found.next, sha256=digest(content)))
    return Tip(generation.log_id, generation.last) if generation else None


async def load(store: ArchiveStore, topic: str) -> TopicArchive | None:
    """The archived part of the topic; None if there is none.

    Raises ``ArchiveDamaged`` unless each manifest links to the one before.
    """
    generation, generation_digest = await newest_generation(store, topic)
    names = await manifest_names(store, topic, generation.last.next if generation else 0)
    contents = await _get_all(store, names)
    manifests = [decode_manifest(name, content) for name, content in zip(names, contents, strict=True)]
    check_chain(generation.last if generation else None, manifests, contents)
    if manifests:
        tip = Tip(manifests[-1].log_id, Link(next=manifests[-1].next, sha256=digest(contents[-1])))
    elif generation:
        tip = Tip(generation.log_id, generation.last)
    else:
        return None
    parts: Sequence[Generation | Manifest] = [*([generation] if generation else []), *manifests]
    return TopicArchive(
        topic,
        first=parts[0].first,
        tip=tip,
        files=tuple(file for part in parts for file in part.files),
        holes=tuple(hole for part in parts for hole in part.holes),
        generation=generation.number if generation else 0,
        digest=generation_digest,
        manifests=len(manifests),
    )


async def newest_generation(store: ArchiveStore, topic: str) -> tuple[Generation | None, str]:
    """The result of the last compaction and its digest; None and an empty string before the first."""
    names = [stored.name async for stored in store.list(layout.generations(topic))]
    if not names:
        return None, ""
    content = await store.get(names[-1])
    return decode_generation(names[-1], content), digest(content)


async def manifest_names(store: ArchiveStore, topic: str, start: int) -> list[str]:
    """The names of the manifests whose ranges begin at ``start`` or later, in order."""
    return [stored.name async for stored in store.list(layout.manifests(topic), layout.manifest(topic, start))]


def check_chain(last: Link | None, manifests: Sequence[Manifest], contents: Sequence[bytes]) -> None:
    """Raise ``ArchiveDamaged`` unless each manifest follows the one before it, and the first follows ``last``."""
    for manifest, content in zip(manifests, contents, strict=True):
        name = layout.manifest(manifest.topic, manifest.first)
        if manifest.previous != last or (last is not None and manifest.first != last.next):
            expected = "to be the first" if last is None else f"to follow the one that ends at {last.next}"
            raise ArchiveDamaged(
                f"{name} does not continue what is before it (it has {expected}): a manifest is missing or was "
                "altered; restore the archive from a copy"
            )
        last = Link(next=manifest.next, sha256=digest(content))


async def _get_all(store: ArchiveStore, names: Sequence[str]) -> list[bytes]:
    turns = asyncio.Semaphore(GETS_AT_ONCE)

    async def get(name: str) -> bytes:
        async with turns:
            return await store.get(name)

    return await asyncio.gather(*(get(name) for name in names))
