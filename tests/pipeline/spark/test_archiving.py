"""Spark writes the same archive as a single process, even if processes die."""

import asyncio
import json
import os
import signal
import threading
from itertools import pairwise
from pathlib import Path

import pytest

from callboard.archive.files.segment import SCHEMA
from callboard.archive.reader import ArchiveReader
from callboard.board.archive import archiving
from callboard.board.connect.settings import BoardSettings
from callboard.errors import ArchiveBusy, ArchiveHole
from callboard.messages.distribution.topic_messages import Kind, PackageMessage, PackageStatusMessage, Status
from callboard.messages.headers import new_record
from callboard.messages.record import NewRecord
from callboard.pipeline.archive import archiver
from callboard.pipeline.run import Run

PACKAGES = 60
STATUSES = 7
TOPICS = ("callboard.package", "callboard.status")
STATUS = PackageStatusMessage(subscriber_instance="i", subscriber="s", publisher="p", offset=1, status=Status.IMPORTED)


def package(number: int) -> NewRecord:
    message = PackageMessage(
        publisher_instance="i", publisher="blue", package_id=f"{number}", kind=Kind.ADD, content=os.urandom(50)
    )
    return new_record(message, record_id=f"{number}", time_ns=number + 1, producer="blue/i", key=f"key-{number}")


def undecodable() -> list[NewRecord]:
    """Records that no version can decode, or only a newer one."""
    whole = package(0)
    return [
        NewRecord(payload=b"\xff\xff", headers=whole.headers),
        NewRecord(payload=whole.payload, headers=(("type", "PackageMessage"), ("version", "2.0"), ("id", "newer"))),
        NewRecord(payload=b"", headers=(("other", "type"), ("type", ""), ("publisher", "ä\nb"), ("publisher", "c"))),
        NewRecord(payload=b"bare"),
    ]


class Place:
    """A board with an archive beside it."""

    def __init__(self, url: str, folder: Path, spark) -> None:
        self.settings = BoardSettings(url, "", folder)
        self.folder, self.tip = folder, folder / "tip"
        (folder / "callboard.toml").write_text(f'log = "{url}"\n')
        self.run = Run("archive", spark, {"board": str(folder / "callboard.toml")}, clock=lambda: 1)

    def archive(self, on_step=lambda _: None, *, accept_hole: bool = False) -> archiving.RunReport:
        """Archive by Spark; ``on_step`` is called before and after each commit, and before each wave of tasks."""
        run = Run(self.run.job, self.run.spark, self.run.options, self.run.clock, on_step=on_step)
        report, self.undecodable = asyncio.run(
            archiver.archive(run, self.settings, "archive", accept_hole=accept_hole, tip=self.tip,
                             on_progress=lambda *_: on_step("committed"))
        )  # fmt: skip
        return report

    def archive_alone(self, place: str) -> None:
        """Archive in one process."""
        done = asyncio.run(archiving.archive(self.settings, place, accept_hole=False, tip=None,
                                             on_progress=lambda *_: None))  # fmt: skip
        assert done.error is None

    def rows(self, topic: str, place: str = "archive") -> list[dict]:
        """All that an archive has of a topic, read and checked by callboard.archive."""

        async def work() -> list[dict]:
            async with ArchiveReader(place, self.folder) as reader:
                if await reader.topic(topic) is None:
                    return []
                return [row async for batch in reader.batches(topic) for row in batch.to_pylist()]

        return asyncio.run(work())

    def truth(self) -> dict[str, list[dict]]:
        """The rows of another archive, which one process has written."""
        if not (self.folder / "truth").exists():
            self.archive_alone("truth")
        return {topic: self.rows(topic, "truth") for topic in TOPICS}

    def tip_offset(self) -> int:
        """Up to where the retention may remove packages."""
        return json.loads(self.tip.read_text())["offset"] if self.tip.exists() else 0

    def segments(self) -> int:
        return len(list(self.folder.glob("archive/segment/*/*.parquet")))


@pytest.fixture(params=["sqlite_log", "postgres_log"])
def log(request, server):
    return request.getfixturevalue(request.param)


def filled(log, folder: Path, spark, monkeypatch) -> Place:
    """A log with so much that a range has about ten records, and packages take more than one wave."""
    monkeypatch.setattr(archiver, "SEGMENT_BYTES", 1500)
    monkeypatch.setattr(archiver, "WAVE_TASKS", 2)
    log.append_records("package", *map(package, range(PACKAGES - 4)), *undecodable())
    log.append("status", *[STATUS] * STATUSES)
    log.append("discovery")
    return Place(log.url, folder, spark)


@pytest.fixture
def place(sqlite_log, tmp_path, spark, monkeypatch) -> Place:
    return filled(sqlite_log, tmp_path, spark, monkeypatch)


def test_spark_archives_the_same_bytes_as_a_single_process_and_reports_undecodable_records(
    log, tmp_path, spark, monkeypatch
):
    place = filled(log, tmp_path, spark, monkeypatch)
    report = place.archive()
    assert report.error is None
    assert {run.topic: run.rows for run in report.topics if run.rows} == {TOPICS[0]: PACKAGES, TOPICS[1]: STATUSES}
    assert place.undecodable == {TOPICS[0]: 4, TOPICS[1]: 0}
    truth = place.truth()
    assert {topic: place.rows(topic) for topic in TOPICS} == truth
    assert set(truth[TOPICS[0]][0]) == set(SCHEMA.names)
    assert place.segments() > 5
    log.append_records("package", package(PACKAGES))
    asyncio.run(archiving.tidy(place.settings, "archive", lambda *_: None))
    place.archive_alone("archive")  # each continues where the other stopped
    log.append_records("package", package(PACKAGES + 1))
    assert place.archive().error is None
    assert [row["offset"] for row in place.rows(TOPICS[0])] == list(range(1, PACKAGES + 3))


@pytest.mark.timeout(600)
def test_a_driver_killed_at_any_step_loses_and_duplicates_nothing(place, dies_before):
    """Each driver continues where the one before died, until a chain of killed drivers has done all of it."""
    truth, step = place.truth(), 1
    while dies_before(step, place.archive):
        for topic in TOPICS:
            there = place.rows(topic)
            assert there == truth[topic][: len(there)]
        assert place.tip_offset() <= len(place.rows(TOPICS[0])), "the retention may remove what is not archived"
        step += 1
    assert step > 5
    assert {topic: place.rows(topic) for topic in TOPICS} == truth
    assert place.tip_offset() == PACKAGES


def test_a_worker_killed_after_writing_its_segment_writes_no_second_one(place, tmp_path, monkeypatch):
    """It is killed before it says what it wrote; who does its task again makes a file of the same name."""
    (tmp_path / "died").mkdir()
    deaths, tasks_of = tmp_path / "died", archiver.tasks_of

    def dying(wave):
        work = tasks_of(wave)

        def die(batches):
            for done in work(batches):
                if len(list(deaths.iterdir())) < 2:
                    (deaths / str(os.getpid())).touch()
                    os.kill(os.getpid(), signal.SIGKILL)
                yield done

        return die

    monkeypatch.setattr(archiver, "tasks_of", dying)
    report = place.archive()
    assert len(list(deaths.iterdir())) >= 2, "no driver died"
    assert {topic: place.rows(topic) for topic in TOPICS} == place.truth()
    assert place.segments() == sum(run.files for run in report.topics)


def elsewhere(work) -> None:
    """Do it in a thread, as this one has an event loop."""
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()


def test_of_two_concurrent_runs_one_ends_with_an_error(place):
    others = []

    def overtake(step: str) -> None:
        if step.startswith("committing") and not others:
            others.append(step)
            elsewhere(place.archive)

    report = place.archive(overtake)
    assert isinstance(report.error, ArchiveBusy)
    assert "another process archived" in report.topics[0].problem
    assert {topic: place.rows(topic) for topic in TOPICS} == place.truth()


def test_records_trimmed_before_a_task_has_read_them_are_reported_as_a_hole(place, sqlite_log):
    def trim(step: str) -> None:
        if step.startswith("archiving callboard.package"):
            elsewhere(lambda: sqlite_log.trim("package", 5))

    truth = place.truth()
    report = place.archive(trim)
    assert isinstance(report.error, ArchiveHole)
    assert "up to 5, but is archived only up to 1" in report.topics[0].problem
    assert report.topics[1].rows == STATUSES, "one topic kept the others from it"
    assert place.rows(TOPICS[0]) == []
    assert not place.tip.exists()
    assert place.archive().error is None, "an archive begins where the log does"
    assert place.rows(TOPICS[0]) == truth[TOPICS[0]][4:]


def test_an_accepted_hole_is_recorded(place, sqlite_log):
    place.archive()
    sqlite_log.append_records("package", *map(package, range(100, 120)))
    sqlite_log.trim("package", PACKAGES + 10)
    assert isinstance(place.archive().error, ArchiveHole)
    assert place.archive(accept_hole=True).error is None
    with pytest.raises(ArchiveHole, match=f"from {PACKAGES + 1} up to {PACKAGES + 10}"):
        place.rows(TOPICS[0])


@pytest.mark.parametrize(
    ("start", "end", "most", "side_by_side", "tasks"),
    [(1, 2, 10, 2, 1), (5, 15_005, 10**6, 4, 1), (0, 50_000, 10**6, 2, 2), (0, 50_001, 25_000, 2, 4),
     (7, 10**6, 1, 3, 12)],
)  # fmt: skip
def test_ranges_are_contiguous_and_large_enough_to_be_worth_a_task(start, end, most, side_by_side, tasks):
    ranges = archiver.divided(start, end, most, side_by_side)
    assert len(ranges) == tasks
    assert ranges[0][0] == start
    assert all(before[1] == after[0] for before, after in pairwise(ranges))
    assert all(0 < high - low <= most for low, high in ranges)
    assert (ranges[-1][1] == end) == (tasks < side_by_side * archiver.WAVE_TASKS)
