"""Removes files that no manifest refers to: leftovers of killed runs, and files that compactions replaced."""

from dataclasses import dataclass

from callboard.archive.files import layout
from callboard.archive.files.manifest import Generation, decode_generation, decode_manifest
from callboard.archive.store import ArchiveStore
from callboard.archive.stores.folder import UNFINISHED
from callboard.archive.topic_archive import manifest_names

ORPHAN_AGE_NS = 24 * 3600 * 10**9
"""Younger files stay: a run may be about to refer to one, and readers of an older generation get this long."""


@dataclass(frozen=True, slots=True)
class Vacuumed:
    """The files that were removed."""

    files: int
    length: int


async def vacuum(store: ArchiveStore, topic: str, now_ns: int, age_ns: int = ORPHAN_AGE_NS) -> Vacuumed:
    """Remove files unused for the last ``age_ns`` nanoseconds. Manifests and generations are never removed."""
    kept = await _in_use(store, topic, now_ns - age_ns)
    files = length = 0
    for prefix in (f"{layout.segments()}{topic}/", f"{UNFINISHED}/"):
        async for stored in store.list(prefix):
            if stored.name not in kept and stored.stored_ns < now_ns - age_ns:
                await store.delete(stored.name)
                files, length = files + 1, length + stored.length
    return Vacuumed(files, length)


async def _in_use(store: ArchiveStore, topic: str, since_ns: int) -> set[str]:
    """The segments of every state that was current at any time since ``since_ns``."""
    kept: set[str] = set()
    oldest: Generation | None = None
    for name in reversed([stored.name async for stored in store.list(layout.generations(topic))]):
        oldest = decode_generation(name, await store.get(name))
        kept.update(file.name for file in oldest.files)
        if oldest.time_ns < since_ns:
            break
        oldest = None  # before this one, an earlier one was current
    for name in await manifest_names(store, topic, oldest.last.next if oldest else 0):
        kept.update(file.name for file in decode_manifest(name, await store.get(name)).files)
    return kept
