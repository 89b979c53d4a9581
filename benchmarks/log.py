"""The SQLite log against bare ``sqlite3``: durable appends and catching up.

Appends: callers that each write one record and wait for it, repeatedly. The peer writes the same records into the same
schema with the same pragmas (WAL, synchronous=FULL), as many per commit as the log's group commit achieved in that
round, in one thread that does nothing else; it takes no lock and wakes no reader.

Catching up: the log's records in pages, as a subscriber gets them (as events, in an executor, checked for range),
against ``fetchall`` of the same rows in pages of the same size, as bare tuples. Neither unpacks the headers, which both
have as bytes.
"""

import asyncio
import sqlite3
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from report import Report, rounds

from callboard.backends.log import READ_BYTES_MAX, READ_RECORDS_MAX
from callboard.backends.logs.sqlite import SqliteLog, schema, writer
from callboard.messages.record import Headers, NewRecord, pack_headers

ROUNDS = 5
APPEND_S = 0.3
CATCH_UP_BYTES = 10_000_000
CATCH_UP_RECORDS_MAX = 25_000
TOPIC = "package"

HEADERS: Headers = (
    ("type", "PackageMessage"),
    ("version", "1.0"),
    ("id", "0190a7c8-5a3b-7c1d-9e2f-123456789012"),
    ("time_ns", "1800000000000000000"),
    ("traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"),
    ("producer", "publisher@host:4711"),
)

INSERT = "INSERT INTO records(time_ns, key, headers, payload) VALUES(?, ?, ?, ?)"
SELECT = "SELECT offset, time_ns, payload, headers FROM records WHERE offset >= ? ORDER BY offset LIMIT ?"


def with_folder(measure: Callable[[Path], float]) -> float:
    with tempfile.TemporaryDirectory() as folder:
        return measure(Path(folder))


class Appends:
    """One measurement: a number of callers, and records of one size."""

    def __init__(self, callers: int, size: int) -> None:
        self.callers, self.payload = callers, bytes(size)
        self.per_commit = 1.0

    def ours(self, folder: Path) -> float:
        """Records a second through the log."""
        return asyncio.run(self._ours(folder))

    async def _ours(self, folder: Path) -> float:
        commits, commit = 0, writer.Writer._commit  # noqa: SLF001 - nothing public counts the commits

        def counted(self: writer.Writer, group: list[writer.Work]) -> tuple[list[object], int]:
            nonlocal commits
            commits += 1
            return commit(self, group)

        async def call() -> int:
            count = 0
            while time.perf_counter() < deadline:
                await log.append(TOPIC, [record])
                count += 1
            return count

        log, record = SqliteLog(folder), NewRecord(payload=self.payload, headers=HEADERS)
        await log.ensure(TOPIC)
        await log.append(TOPIC, [record])
        writer.Writer._commit = counted  # type: ignore[method-assign]  # noqa: SLF001
        try:
            start = time.perf_counter()
            deadline = start + APPEND_S
            count = sum(await asyncio.gather(*(call() for _ in range(self.callers))))
            took = time.perf_counter() - start
        finally:
            writer.Writer._commit = commit  # type: ignore[method-assign]  # noqa: SLF001
            await log.close()
        self.per_commit = count / commits
        return count / took

    def bare(self, folder: Path) -> float:
        """Records a second without it."""
        files = schema.Files.of(folder, TOPIC)
        schema.prepare(files)
        db = sqlite3.connect(files.database, isolation_level=None)
        for pragma in schema.PRAGMAS:
            db.execute(f"PRAGMA {pragma}").fetchall()
        group = [(1, None, pack_headers(HEADERS), self.payload)] * round(self.per_commit)
        start, count = time.perf_counter(), 0
        while time.perf_counter() < start + APPEND_S:
            db.execute("BEGIN IMMEDIATE")
            db.executemany(INSERT, group)
            db.execute("COMMIT")
            count += len(group)
        took = time.perf_counter() - start
        db.close()
        return count / took


async def fill(folder: Path, size: int, headers: Headers) -> int:
    """A log to catch up with; return the number of records."""
    count = min(CATCH_UP_RECORDS_MAX, CATCH_UP_BYTES // size)
    log = SqliteLog(folder)
    await log.ensure(TOPIC)
    for begin in range(0, count, 100):
        batch = min(100, count - begin)
        await log.append(TOPIC, [NewRecord(payload=bytes(size), headers=headers)] * batch)
    await log.close()
    return count


async def catch_up(folder: Path, count: int) -> float:
    log = SqliteLog(folder)
    seen, start = 0, (await log.bounds(TOPIC)).first
    began = time.perf_counter()
    while records := await log.read(TOPIC, start):
        seen += len(records)
        start = records[-1].offset + 1
    took = time.perf_counter() - began
    await log.close()
    assert seen == count
    return count / took


def catch_up_bare(folder: Path, count: int, page: int) -> float:
    db = sqlite3.connect(f"file:{folder / TOPIC}.db?mode=ro", uri=True)
    seen, start = 0, 0
    began = time.perf_counter()
    while rows := db.execute(SELECT, (start, page)).fetchall():
        seen += len(rows)
        start = rows[-1][0] + 1
    took = time.perf_counter() - began
    db.close()
    assert seen == count
    return count / took


def main() -> None:
    report = Report("log")
    for size in (200, 20_000):
        for callers in (1, 10, 100):
            appends = Appends(callers, size)
            contestants = {
                "ours": partial(with_folder, appends.ours),
                "bare": partial(with_folder, appends.bare),
            }
            figures = rounds(ROUNDS, contestants, rotate=False)
            report.row(
                f"append, {callers} callers x {size} B", figures["ours"], figures["bare"],
                unit="records/s", peer_name="sqlite3", goal=0.5, note=f"{appends.per_commit:.1f} per commit",
            )  # fmt: skip
    for size, headers in ((200, ()), (200, HEADERS), (2_000, HEADERS), (20_000, HEADERS)):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            count = asyncio.run(fill(folder, size, headers))
            page = min(READ_RECORDS_MAX, READ_BYTES_MAX // size)
            contestants = {
                "ours": lambda: asyncio.run(catch_up(folder, count)),  # noqa: B023 - called in this turn
                "bare": lambda: catch_up_bare(folder, count, page),  # noqa: B023 - called in this turn
            }
            figures = rounds(ROUNDS, contestants)
            report.row(
                f"catch up, {size} B, {len(headers)} headers", figures["ours"], figures["bare"],
                unit="records/s", peer_name="sqlite3", goal=0.7, note=f"{count} records",
            )  # fmt: skip
    report.write()


if __name__ == "__main__":
    main()
