"""Archives a board's log, inspects the archive, and restores from it."""

import secrets
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import astuple, dataclass, field
from functools import partial
from pathlib import Path
from typing import Protocol

from callboard.archive import restoration
from callboard.archive.archiver import Archiver
from callboard.archive.compaction import Compacted, compact
from callboard.archive.files.chain import Archived
from callboard.archive.files.manifest import Hole
from callboard.archive.store import ArchiveStore
from callboard.archive.stores import open_archive
from callboard.archive.topic_archive import find_tip, load
from callboard.archive.vacuum import vacuum
from callboard.archive.verification import Verified, verify
from callboard.backends.local.disk import disk_errors
from callboard.backends.log import Log
from callboard.backends.registry import open_log
from callboard.board.archive.archive_tip import ArchiveTip, write_tip
from callboard.board.archive.archive_word import tell_log
from callboard.board.connect.opening import signing
from callboard.board.connect.settings import BoardSettings
from callboard.errors import ArchiveError, CallboardError, LogError, LogReplaced, RequestRefused, TopicMissing

OnProgress = Callable[[str, int, int], None]
"""Called with the topic, the amount done, and the total."""


@dataclass(slots=True)
class TopicRun:
    """What a run archived of one topic: the offsets from ``first`` up to, but not including, ``next``."""

    topic: str
    first: int = 0
    next: int = 0
    rows: int = 0
    files: int = 0
    length: int = 0
    hole: bool = False
    problem: str = ""


@dataclass(slots=True)
class RunReport:
    """The result of a run and its duration. ``error`` is why not everything was archived."""

    place: str
    seconds: float = 0.0
    topics: list[TopicRun] = field(default_factory=list)
    error: CallboardError | None = None


@dataclass(frozen=True, slots=True)
class TopicState:
    """How much of a topic is archived, and where the log ends; ``problem`` says why archiving cannot continue."""

    topic: str
    first: int = 0
    next: int = 0
    rows: int = 0
    files: int = 0
    length: int = 0
    generation: int = 0
    manifests: int = 0
    holes: tuple[Hole, ...] = ()
    log_end: int = 0
    problem: str = ""


@dataclass(frozen=True, slots=True)
class CompactReport:
    """The result of compacting a topic's files, and how many old ones were removed."""

    topic: Compacted
    removed: int
    removed_length: int


@dataclass(slots=True)
class TopicRestored:
    """What was restored of a topic."""

    topic: str
    next: int = 0
    rows: int = 0


@asynccontextmanager
async def archive_of(settings: BoardSettings, place: str) -> AsyncIterator[ArchiveStore]:
    """Open the archive. Raises ``ConfigError``."""
    store = open_archive(place, settings.base)
    try:
        yield store
    finally:
        await store.close()


class Archiving(Protocol):
    """Archives topics of a log: ``Archiver``, or its equivalent on many cores."""

    def run(self, topic: str, *, accept_hole: bool = False) -> AsyncIterator[Archived]:
        """See ``Archiver.run``."""
        ...


def one_process(log: Log, store: ArchiveStore, topics: Sequence[str]) -> Archiving:
    """Archive in this process."""
    return Archiver(log, store, topics, time.time_ns, lambda: secrets.token_hex(16))


async def archive(
    settings: BoardSettings,
    place: str,
    *,
    accept_hole: bool,
    tip: Path | None,
    on_progress: OnProgress,
    archiver: Callable[[Log, ArchiveStore, Sequence[str]], Archiving] = one_process,
) -> RunReport:
    """Archive everything that is on the log now, topic by topic; a topic that fails does not stop the others.

    Args:
        settings: the board's; its log must exist.
        place: of the archive.
        accept_hole: see ``Archiver.run``.
        tip: the file in which the retention looks up how far the package topic is archived.
        on_progress: called for every manifest.
        archiver: makes the object that archives the topics.
    """
    begun, report = time.monotonic(), RunReport(place)
    async with _raw_log(settings) as log, archive_of(settings, place) as store:
        topics = await _existing(log, settings)
        archiving = archiver(log, store, topics)
        for topic in topics:
            run = TopicRun(topic)
            report.topics.append(run)
            try:
                await _archive_topic(archiving, log, run, accept_hole, on_progress)
            except (ArchiveError, LogReplaced) as error:
                run.problem, report.error = str(error), report.error or error
        if tip is not None:
            await _tell_tip(store, topics, settings.topics.package, tip)
        if any(run.rows > (run.topic == settings.topics.discovery) for run in report.topics):
            # Not after a run that only found its own announcement.
            report.error = report.error or await _tell_log(
                signing(log, settings), settings.topics.discovery, store, topics
            )
    report.seconds = time.monotonic() - begun
    return report


async def look(settings: BoardSettings, place: str) -> list[TopicState]:
    """What the archive has of each topic, and how far behind the log it is."""
    states = []
    async with _raw_log(settings) as log, archive_of(settings, place) as store:
        there = await _existing(log, settings)
        for topic in astuple(settings.topics):
            end, log_id = 0, ""
            if topic in there:
                first, end = await log.bounds(topic)
                log_id = await log.identity(topic)
            found = await load(store, topic)
            if found is None:
                states.append(TopicState(topic, log_end=end))
                continue
            problem = ""
            if log_id and log_id != found.tip.log_id:
                problem = "this log is not the one in the archive"
            elif log_id and first > found.next:
                problem = f"the log begins at {first}; earlier records are lost"
            states.append(
                TopicState(
                    topic, found.first, found.next, found.rows, len(found.files), found.length, found.generation,
                    found.manifests, found.holes, end, problem,
                )
            )  # fmt: skip
    return states


async def check(settings: BoardSettings, place: str, on_progress: OnProgress) -> list[Verified]:
    """Read and verify the whole archive."""
    async with archive_of(settings, place) as store:
        found = [
            await verify(store, topic, lambda done, files, topic=topic: on_progress(topic, done, files))  # type: ignore[misc]
            for topic in astuple(settings.topics)
        ]
    return [each for each in found if each is not None]


async def tidy(settings: BoardSettings, place: str, on_progress: OnProgress) -> list[CompactReport]:
    """Compact every topic, and remove files that have been unneeded for a day."""
    reports, topics = [], astuple(settings.topics)
    async with archive_of(settings, place) as store:
        for number, topic in enumerate(topics, start=1):
            compacted = await compact(store, topic, time.time_ns, lambda: secrets.token_hex(16))
            removed = await vacuum(store, topic, time.time_ns())
            reports.append(CompactReport(compacted, removed.files, removed.length))
            on_progress(topic, number, len(topics))
    return reports


async def restore(
    settings: BoardSettings, place: str, *, same_identity: bool, on_progress: OnProgress
) -> list[TopicRestored]:
    """Restore the archive to the board's log, which must be empty. Raises as ``restoration.restore``."""
    done = []
    async with _raw_log(settings) as log, archive_of(settings, place) as store:
        if await find_tip(store, settings.topics.package) is None:
            raise RequestRefused(
                f"{store.place} has no topic {settings.topics.package!r}; correct archive.place, or prefix",
                code="not_found",
            )
        for topic in astuple(settings.topics):
            restored = TopicRestored(topic)
            done.append(restored)
            async for step in restoration.restore(store, log, topic, same_identity=same_identity):
                restored.next, restored.rows = step.next, restored.rows + step.rows
                on_progress(topic, restored.rows, restored.rows + step.left)
    return done


async def _archive_topic(
    archiving: Archiving, log: Log, run: TopicRun, accept_hole: bool, on_progress: OnProgress
) -> None:
    end = (await log.bounds(run.topic)).end
    async for step in archiving.run(run.topic, accept_hole=accept_hole):
        run.first = run.first if run.next else step.first
        run.next, run.hole = step.next, run.hole or step.hole
        run.rows, run.files, run.length = run.rows + step.rows, run.files + step.files, run.length + step.length
        on_progress(run.topic, step.next - run.first, end - run.first)


async def _tell_tip(store: ArchiveStore, topics: list[str], package: str, path: Path) -> None:
    """Write the tip for the retention; nothing while there is no archive of the packages."""
    tips = {topic: await find_tip(store, topic) for topic in topics}
    found = tips.pop(package)
    if found is not None:
        others = {topic: tip.next if tip else 0 for topic, tip in tips.items()}
        with disk_errors(partial(RequestRefused, code="inaccessible"), path):
            write_tip(path, ArchiveTip(found.log_id, found.next - 1, others))


async def _tell_log(log: Log, discovery: str, store: ArchiveStore, topics: list[str]) -> LogError | None:
    """Announce the archive's progress on the log; returns why that failed, if it did."""
    tips = {topic: await find_tip(store, topic) for topic in topics}
    archived = {topic: tip.next for topic, tip in tips.items() if tip}
    try:
        await tell_log(log, discovery, store.place, archived, time.time_ns())
    except TopicMissing:  # no subscribers yet, and so no retention to inform
        return None
    except LogError as error:
        return error
    return None


async def _existing(log: Log, settings: BoardSettings) -> list[str]:
    """The topics that exist; the package topic always does, an older board may lack others."""
    await log.bounds(settings.topics.package)
    there = []
    for topic in astuple(settings.topics):
        try:
            await log.bounds(topic)
        except TopicMissing:
            continue
        there.append(topic)
    return there


@asynccontextmanager
async def _raw_log(settings: BoardSettings) -> AsyncIterator[Log]:
    """The log without its cache of recent records, which is of no use to a reader that passes once."""
    log = open_log(settings.log, settings.base)
    try:
        yield log
    finally:
        await log.close()
