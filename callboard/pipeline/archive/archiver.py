"""Archives topics with Spark: tasks write segments in parallel, and this process alone commits them, in order.

The files are the same as those of ``callboard.archive``. Nothing is ever removed here, neither after an error nor
after a retried task: files that no manifest names are vacuumed a day later.
"""

import asyncio
import secrets
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path

from callboard.archive.files.chain import Archived, Chain, hole
from callboard.archive.files.segment import SEGMENT_BYTES, SEGMENT_RECORDS
from callboard.archive.store import ArchiveStore
from callboard.backends.log import Log
from callboard.backends.logs.limits import record_bytes
from callboard.board.archive import archiving
from callboard.board.connect.settings import BoardSettings
from callboard.errors import OffsetOutOfRange
from callboard.pipeline.archive.segment_task import RESULT, Ranged, Ranges, Wave, ranges_of, tasks_of
from callboard.pipeline.failure import explained
from callboard.pipeline.run import Run
from callboard.pipeline.source.place import Place

RANGE_RECORDS_MIN = 20_000
"""A task costs some tenths of a second, which does not pay for fewer records."""

WAVE_TASKS = 4
"""Ranges in a wave for each parallel task: a killed run has to read one wave again, and a slow task delays the others
for only part of a wave."""


class SparkArchiver:
    """Does the work of ``callboard.archive.archiver.Archiver`` on all cores of the session.

    Args:
        run: with the session and the options of the data source.
        archive: its place, for tasks: an absolute path of a folder, or a bucket.
        log: open; only its ends are read here.
        store: the archive, open.
        topics: all topics of the log by their names, each with its name in the data source.
    """

    def __init__(self, run: Run, archive: str, log: Log, store: ArchiveStore, topics: Mapping[str, str]) -> None:
        self._run, self._archive, self._log, self._store, self._topics = run, archive, log, store, topics
        self.undecodable: dict[str, int] = {}
        """Undecodable records by topic; they are archived as they are."""

    async def run(self, topic: str, *, accept_hole: bool = False) -> AsyncIterator[Archived]:
        """See ``Archiver.run``; each task's range gets a manifest."""
        chain = await Chain.of(self._log, self._store, topic, list(self._topics), self._run.clock)
        if (crossed := await chain.cross_hole(accept=accept_hole)) is not None:
            yield crossed
        place, unique = Place.of({**self._run.options, "topic": self._topics[topic]}), secrets.token_hex(8)
        while chain.next < chain.end:
            begun_ns = self._run.clock()
            ranges = await self._ranges(topic, chain.next, chain.end)
            self._run.on_step(f"archiving {topic} from offset {chain.next} on")
            wave = Wave(place, self._archive, topic, unique, ranges)
            written = await asyncio.to_thread(self._write, wave)  # while the loop keeps connections alive
            for each, (_, stop) in zip(written, ranges, strict=True):
                self._run.on_step(f"committing {topic} up to offset {stop - 1}")
                done = await chain.append(stop, each.files, begun_ns)
                self.undecodable[topic] = self.undecodable.get(topic, 0) + each.undecodable
                yield done

    def _write(self, wave: Wave) -> list[Ranged]:
        numbers = self._run.spark.range(0, len(wave.ranges), 1, len(wave.ranges))
        with explained():
            return ranges_of([tuple(row) for row in numbers.mapInArrow(tasks_of(wave), RESULT).collect()])

    async def _ranges(self, topic: str, start: int, end: int) -> Ranges:
        """The ranges of the next tasks, each of about one file's size as estimated from the first records."""
        try:
            page = await self._log.read(topic, start)
        except OffsetOutOfRange as error:  # trimmed under us
            raise hole(topic, start, error.first) from error
        offsets = page[-1].offset + 1 - start if page else end - start
        each = SEGMENT_BYTES * offsets // max(sum(map(record_bytes, page)), 1)
        return divided(start, end, min(each, SEGMENT_RECORDS), self._run.partitions)


def divided(start: int, end: int, most: int, side_by_side: int) -> Ranges:
    """The first ranges of ``[start, end)`` for one wave, of at most ``most`` offsets and about the same size.

    Their number is a multiple of ``side_by_side``, so that no core waits for the last one, unless there are too few
    offsets to be worth a task each.
    """
    count = -(-(end - start) // max(most, 1))
    count += -count % side_by_side
    if count == side_by_side:
        count = min(count, -(-(end - start) // RANGE_RECORDS_MIN))
    edges = [start + (end - start) * number // count for number in range(min(count, side_by_side * WAVE_TASKS) + 1)]
    return tuple((low, high) for low, high in pairwise(edges) if low < high)


async def archive(
    run: Run,
    settings: BoardSettings,
    place: str,
    *,
    accept_hole: bool,
    tip: Path | None,
    on_progress: archiving.OnProgress = lambda *_: None,
) -> tuple[archiving.RunReport, dict[str, int]]:
    """Archive everything on the log now. Arguments and effects as of ``callboard.board.archive.archiving.archive``.

    Returns:
        The report, and the number of undecodable records of each topic.
    """
    sorts = {name: sort for sort, name in asdict(settings.topics).items()}
    folder = place if "://" in place else str(settings.base / place.removeprefix("folder:"))
    made: list[SparkArchiver] = []

    def by_spark(log: Log, store: ArchiveStore, topics: Sequence[str]) -> SparkArchiver:
        made.append(SparkArchiver(run, folder, log, store, {topic: sorts[topic] for topic in topics}))
        return made[0]

    report = await archiving.archive(
        settings, place, accept_hole=accept_hole, tip=tip, on_progress=on_progress, archiver=by_spark
    )
    return report, made[0].undecodable
