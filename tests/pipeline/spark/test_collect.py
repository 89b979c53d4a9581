"""Blobs that nothing needs are found and removed as a naive model says, and who publishes meanwhile loses none."""

import asyncio
import hashlib
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from callboard.backends.blob_stores.folder import FolderBlobStore
from callboard.board.archive import archiving
from callboard.board.connect.settings import BoardSettings
from callboard.errors import ArchiveDamaged, ArchiveHole, LogReplaced, Undecodable
from callboard.messages.distribution.topic_messages import (
    CommandResultMessage,
    Kind,
    PackageMessage,
    PackageStatusMessage,
    Status,
)
from callboard.messages.record import NewRecord
from callboard.pipeline.collect.collect import mark, sweep, unused
from callboard.pipeline.collect.references import references, spans
from callboard.pipeline.collect.stored_blobs import removed
from callboard.pipeline.run import Run
from tests.refused import refused

DAY_S = 24 * 3600.0
DAY_NS = int(DAY_S * 1e9)
NOW_NS = 1_800_000_000 * 10**9
BLOBS = 300
SEED = 7


def content(number: int) -> bytes:
    return b"%d" % number


def digest(number: int) -> str:
    return hashlib.sha256(content(number)).hexdigest()


def package(*numbers: int, reference: int | None = None) -> PackageMessage:
    return PackageMessage(
        publisher_instance="i", publisher="p", package_id=f"{numbers}", kind=Kind.ADD,
        blobs=tuple(map(digest, numbers)), content_ref="" if reference is None else digest(reference),
    )  # fmt: skip


def listing(number: int) -> CommandResultMessage:
    return CommandResultMessage(
        subscriber_instance="i", subscriber="s", command_id="c", command_offset=1, accepted=True,
        listing_ref=digest(number),
    )  # fmt: skip


STATUS = PackageStatusMessage(subscriber_instance="i", subscriber="s", publisher="p", offset=1, status=Status.IMPORTED)


class Killed(BaseException):
    """Nothing may catch it, as nothing catches a kill."""


class Board:
    """A log and its archive, a blob store whose clock can be moved, and runs of the job on them."""

    def __init__(self, spark, log, folder: Path) -> None:
        self.spark, self.log, self.folder, self.out = spark, log, folder, folder / "out"
        self.now_ns = NOW_NS
        self.archive_place = str(folder / "archive")
        (folder / "callboard.toml").write_text(f'log = "{log.url}"\n')

    def put(self, *numbers: int) -> None:
        async def work() -> None:
            store = FolderBlobStore(self.folder / "board.db" / "blobs", lambda: self.now_ns)
            for number in numbers:
                await store.put(digest(number), [content(number)])
            await store.close()

        asyncio.run(work())

    def holds(self) -> set[int]:
        names = {file.parent.name + file.name for file in (self.folder / "board.db" / "blobs").glob("??/*")}
        return {number for number in range(BLOBS) if digest(number) in names}

    def archive(self, *, accept_hole: bool = False) -> None:
        settings = BoardSettings(self.log.url, base=self.folder)
        asyncio.run(
            archiving.archive(
                settings, self.archive_place, accept_hole=accept_hole, tip=None, on_progress=lambda *_: None
            )
        )

    def run(self, *, archived: bool = True) -> Run:
        options = {"board": str(self.folder / "callboard.toml")} | ({"archive": self.archive_place} if archived else {})
        return Run("collect", self.spark, options, lambda: self.now_ns)

    def candidates(self) -> set[int]:
        rows = self.spark.read.parquet(str(self.out / "current" / "candidate")).collect()
        keys = {bytes(row["key"]).hex() for row in rows}
        assert len(keys) == len(rows)
        return {number for number in range(BLOBS) if digest(number) in keys}


@pytest.fixture
def board(spark, sqlite_log, tmp_path) -> Board:
    board = Board(spark, sqlite_log, tmp_path)
    board.log.append("package")
    board.log.append("status")
    return board


def fill(board: Board) -> set[int]:
    """Packages in the archive alone, in both, and on the log alone, with a random part of the blobs; what is needed."""
    dice = Random(SEED)
    needed: set[int] = set()
    for part in range(3):
        events = []
        for _ in range(10):
            numbers = dice.sample(range(20, BLOBS), dice.randrange(8))
            reference = dice.choice([None, dice.randrange(20, BLOBS)])
            events.append(package(*numbers, reference=reference))
            needed.update(numbers, () if reference is None else (reference,))
        board.log.append("package", *events)
        board.log.append("status", STATUS, listing(part), STATUS)
        needed.add(part)
        if part < 2:
            board.archive()
        if part == 1:
            board.log.trim("package", 15)
            board.log.trim("status", 5)
    return needed


@pytest.mark.timeout(600)
@pytest.mark.proves("F22", "F23")
def test_unused_blobs_are_removed_after_a_grace_period_unless_they_are_used_again(board, monkeypatch):
    needed = fill(board)
    board.put(*range(BLOBS - 1))
    board.now_ns += 2 * DAY_NS
    board.put(BLOBS - 1)  # within the grace, for a package that is being built
    garbage = set(range(BLOBS - 1)) - needed
    quarantine, report = mark(board.run(), board.out, DAY_S)
    assert board.candidates() == garbage
    assert (quarantine.blobs, quarantine.candidates) == (BLOBS, len(garbage))
    assert quarantine.candidate_bytes == sum(len(content(number)) for number in garbage)
    assert report.topics["package"] == {"start": 1, "stop": 31, "records": 30, "problems": 0}
    assert board.holds() == set(range(BLOBS)), "it only looks"

    board.now_ns += DAY_NS - 1
    with refused("not_due"):
        sweep(board.run(), board.out, DAY_S, max_share=1)
    put_again, referred_to, listed, put_at_last, *_ = sorted(garbage)
    board.put(put_again)  # by a publisher whose package is still to come
    board.log.append("package", package(referred_to))
    board.log.append("status", listing(listed))
    board.now_ns += 1
    with refused("unconfirmed"):
        sweep(board.run(), board.out, DAY_S, max_share=0.01)
    with refused("mismatch"):
        sweep(board.run(archived=False), board.out, DAY_S, max_share=1)

    def late(*told):  # a publisher comes when the log was read and nothing is removed yet
        board.put(put_at_last)
        return removed(*told)

    monkeypatch.setattr("callboard.pipeline.collect.collect.removed", late)
    swept, _ = sweep(board.run(), board.out, DAY_S, max_share=1)
    assert board.holds() == set(range(BLOBS)) - garbage | {put_again, referred_to, listed, put_at_last}
    assert (swept.needed, swept.removed) == (2, len(garbage) - 4)
    with refused("gone"):
        sweep(board.run(), board.out, DAY_S, max_share=1)


@pytest.mark.timeout(600)
def test_the_next_run_completes_a_collection_killed_before_during_or_after_the_removal(board):
    def run(dies_at: str = "") -> Run:
        def step(name: str) -> None:
            if name == dies_at:
                raise Killed

        return replace(board.run(archived=False), on_step=step)

    def sweep_dying(place: str, dying) -> None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(f"callboard.pipeline.collect.collect.{place}", dying)
            with pytest.raises(Killed):
                sweep(run(), board.out, DAY_S, max_share=1)

    def half(blobs, *told):
        assert removed(blobs.limit(20), *told).count() == 20
        raise Killed

    def never(*_):
        raise Killed

    board.put(*range(40))
    board.now_ns += 2 * DAY_NS
    with pytest.raises(Killed):
        mark(run("writing candidates"), board.out, DAY_S)
    with refused("not_found"):
        sweep(run(), board.out, DAY_S, max_share=1)
    board.now_ns += 1
    mark(run(), board.out, DAY_S)
    board.now_ns += DAY_NS
    sweep_dying("removed", half)
    assert len(board.holds()) == 20
    board.put(7)  # shipped again meanwhile, if not for the first time
    sweep_dying("write_document", never)
    assert board.holds() == {7}
    swept, _ = sweep(run(), board.out, DAY_S, max_share=1)
    assert (swept.candidates, swept.removed) == (40, 0)
    assert board.holds() == {7}


PLAIN = (("type", "PackageMessage"), ("version", "1.0"))
NEWER = (("type", "PackageMessage"), ("version", "1.99"))
PING = (("type", "PingMessage"), ("version", "1.0"))
UNKNOWN = (("type", "SomethingNewMessage"), ("version", "1.99"))


@pytest.mark.timeout(600)
def test_no_blob_counts_as_unused_while_a_record_cannot_be_read(board):
    board.log.append("package", package(1))
    board.log.append_records("status", NewRecord(payload=b"", headers=PING))
    run = board.run(archived=False)

    def needed() -> int:
        with references(run.spark, run.options, spans(run.options), 1) as (keys, _):
            return keys.count()

    assert needed() == 1, "who pings refers to nothing"
    for topic, headers, payload in (
        ("package", PLAIN, b"\xff\xff"), ("package", NEWER, b""), ("status", UNKNOWN, b""), ("package", (), b""),
    ):  # fmt: skip
        [offset] = board.log.append_records(topic, NewRecord(payload=payload, headers=headers))
        with pytest.raises(Undecodable, match=f"callboard.{topic}: the record at offset {offset} "):
            needed()
        board.log.trim(topic, offset + 1)


def test_an_archive_with_a_hole_or_of_another_log_is_not_read(board):
    run = board.run()
    board.log.append("package", *map(package, range(5)))
    with pytest.raises(ArchiveDamaged, match="nothing of topic"):
        spans(run.options)
    board.archive()
    before = spans(run.options)
    assert (before["package"].start, before["package"].stop, before["status"].archived) == (1, 6, False)
    board.log.append("package", *map(package, range(5)))
    board.log.trim("package", 6)
    assert spans(run.options)["package"].start == 1
    assert spans(run.options, before)["package"].start == 6
    board.log.trim("package", 8)
    with pytest.raises(ArchiveHole, match="from 6 up to 8"):
        spans(run.options)
    board.archive(accept_hole=True)
    with pytest.raises(ArchiveHole, match="from 6 up to 8"):
        spans(run.options)
    for file in (board.folder / "board.db").glob("*.db*"):
        file.unlink()
    board.log.append("status")
    board.log.append("package", package(1))
    with pytest.raises(LogReplaced):
        spans(run.options)
    with pytest.raises(LogReplaced, match="start over"):
        spans(board.run(archived=False).options, before)


def test_keys_listed_twice_or_needed_a_thousand_times_are_handled_correctly(spark):
    stored = spark.range(1000).selectExpr("unhex(sha2(cast(id as string), 256)) as key", "id as size")
    needed = spark.range(100_000).selectExpr("unhex(sha2(cast(id % 600 as string), 256)) as key")
    assert {row["size"] for row in unused(stored, needed, 3).collect()} == set(range(600, 1000))
