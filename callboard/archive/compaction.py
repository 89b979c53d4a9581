"""Rewrites a topic's small segments into large ones, as a new generation that replaces the manifests before it.

One file commits it: readers use the manifests until the generation exists, and its files from then on. Replaced files
stay for a day, for readers that have already opened them.
"""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass

from callboard.archive.arrow import pa
from callboard.archive.files import layout
from callboard.archive.files.manifest import Generation, Segment, encode
from callboard.archive.files.segment import SEGMENT_BYTES, SEGMENT_RECORDS
from callboard.archive.files.segmentation import segments
from callboard.archive.reader import ArchiveReader
from callboard.archive.store import ArchiveStore
from callboard.archive.topic_archive import TopicArchive, load
from callboard.archive.vacuum import ORPHAN_AGE_NS
from callboard.errors import ArchiveBusy


@dataclass(frozen=True, slots=True)
class Compacted:
    """A generation: how many files of a topic became how many; ``generation`` is 0 if there was nothing to do."""

    topic: str
    generation: int
    files_before: int
    files: int
    rows: int


async def compact(
    store: ArchiveStore,
    topic: str,
    clock: Callable[[], int],
    unique: Callable[[], str],
    *,
    segment_bytes: int = SEGMENT_BYTES,
) -> Compacted:
    """Rewrite adjacent files that are each smaller than half of ``segment_bytes``.

    Raises:
        ArchiveBusy: another process is compacting this topic.
        ArchiveDamaged: a file is missing or altered; nothing is changed.
    """
    found = await load(store, topic)
    runs = _runs(found.files, segment_bytes // 2) if found else []
    if found is None or all(len(run) == 1 for run in runs):
        files = len(found.files) if found else 0
        return Compacted(topic, 0, files, files, found.rows if found else 0)
    begun_ns = clock()
    files_now: list[Segment] = []
    for run in runs:
        if len(run) == 1:
            files_now += run
        else:
            files_now += await _rewrite(store, found, run, unique, segment_bytes)
    assert sum(file.rows for file in files_now) == found.rows, "records were lost or doubled by the compaction"
    if clock() - begun_ns > ORPHAN_AGE_NS // 2:
        raise ArchiveBusy(f"topic {topic!r} took too long to compact, its new files may be vacuumed; run it again")
    generation = Generation(
        topic=topic,
        number=found.generation + 1,
        log_id=found.tip.log_id,
        first=found.first,
        last=found.tip.last,
        previous=found.digest,
        files=tuple(files_now),
        holes=found.holes,
        time_ns=clock(),
    )
    name, content = layout.generation(topic, generation.number), encode(generation)
    if not await store.put_new(name, content) and await store.get(name) != content:
        raise ArchiveBusy(f"another process compacted topic {topic!r} in {store.place}; nothing is left to do")
    return Compacted(topic, generation.number, len(found.files), len(files_now), found.rows)


def _runs(files: Sequence[Segment], large: int) -> list[list[Segment]]:
    """The files in order: adjacent small ones grouped, each large one alone."""
    runs: list[list[Segment]] = []
    for file in files:
        small = file.length < large and file.rows < SEGMENT_RECORDS // 2
        if small and runs and runs[-1][-1].length < large and runs[-1][-1].rows < SEGMENT_RECORDS // 2:
            runs[-1].append(file)
        else:
            runs.append([file])
    return runs


async def _rewrite(
    store: ArchiveStore, found: TopicArchive, run: Sequence[Segment], unique: Callable[[], str], segment_bytes: int
) -> list[Segment]:
    """The same rows in new files, already in the store."""
    reader = ArchiveReader(store)

    async def rows() -> AsyncIterator[pa.RecordBatch]:
        for old in run:
            async for batch in reader.segment(old):
                yield batch

    made = segments(store, found.topic, rows(), lambda _: unique(), segment_bytes=segment_bytes)
    async with aclosing(made):
        return [segment async for segment, _ in made]
