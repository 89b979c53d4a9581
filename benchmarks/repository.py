"""How fast repositories import, beside the bare durable writes of the same content.

Usage: ``python benchmarks/repository.py``, with ``TMPDIR`` on the disk to be measured.

A package is a folder of new files. The bare folder peer writes, syncs and renames the same files and syncs the
folders; the bare SQLite peer inserts the same rows in one transaction per package. Neither computes a digest, keeps a
ledger, or can undo anything.
"""

import asyncio
import hashlib
import os
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import NamedTuple

from report import Report, rounds

from callboard.backends.repositories.folder import FolderRepository
from callboard.backends.repositories.sqlite import SqliteRepository
from callboard.backends.repository import Entry, EntryKind, Keep, Operation, Put, Repository

ROUNDS = 5
CHUNK_BYTES = 1 << 20
LEDGER = bytes(300)
"""About the size of a subscriber's ledger."""


class Load(NamedTuple):
    """The packages to import: their number, their files, and the bytes of a file."""

    packages: int
    files: int
    size: int


LOADS = {"10 files of 4 kB": Load(50, 10, 4096), "one file of 4 MB": Load(5, 1, 4 << 20)}


def main() -> None:
    report = Report("repository")
    for name, load in LOADS.items():
        content = os.urandom(load.size)
        figures = rounds(
            ROUNDS,
            {
                "folder": partial(timed, load, imports(load, content, lambda path: FolderRepository(path / "out"))),
                "bare folder": partial(timed, load, partial(bare_folder, load, content)),
                "sqlite": partial(timed, load, imports(load, content, lambda path: SqliteRepository(path / "out.db"))),
                "bare sqlite": partial(timed, load, partial(bare_sqlite, load, content)),
                "ledger": partial(timed, load, partial(ledgers, load)),
            },
        )
        for ours, peer in (("folder", "bare folder"), ("sqlite", "bare sqlite")):
            report.row(f"import into {ours}, {name}", figures[ours], figures[peer], unit="packages/s",
                       peer_name=peer, goal=0.5)  # fmt: skip
    report.row("save the ledger in a folder, not durable", figures["ledger"], unit="saves/s")
    report.write()


def timed(load: Load, work: Callable[[Path], None]) -> float:
    """Packages a second."""
    with tempfile.TemporaryDirectory() as path:
        start = time.perf_counter()
        work(Path(path))
        return load.packages / (time.perf_counter() - start)


def imports(load: Load, content: bytes, make: Callable[[Path], Repository]) -> Callable[[Path], None]:
    digest = hashlib.sha256(content).hexdigest()

    async def body(path: Path) -> None:
        repository = make(path)
        await repository.open()
        for package in range(load.packages):
            await repository.apply(operations(package), LEDGER)
        await repository.close()

    def operations(package: int) -> Iterator[Operation]:
        yield Keep("/", 0o755)
        yield Put(Entry(f"/{package}", EntryKind.FOLDER, 0o755))
        for file in range(load.files):
            chunks = partial(chunks_of, content)
            yield Put(Entry(f"/{package}/{file}", EntryKind.FILE, size=load.size, open=chunks), digest)

    return lambda path: asyncio.run(body(path))


def ledgers(load: Load, path: Path) -> None:
    async def body() -> None:
        repository = FolderRepository(path / "out")
        await repository.open()
        for _ in range(load.packages):
            await repository.save(LEDGER, durable=False)
        await repository.close()

    asyncio.run(body())


def bare_folder(load: Load, content: bytes, path: Path) -> None:
    for package in range(load.packages):
        folder = path / str(package)
        folder.mkdir()
        for file in range(load.files):
            temporary = folder / f"{file}.tmp"
            with temporary.open("wb") as target:
                for chunk in chunks_of(content):
                    target.write(chunk)
                target.flush()
                os.fsync(target.fileno())
            temporary.rename(folder / str(file))
        for changed in (folder, path):
            descriptor = os.open(changed, os.O_RDONLY)
            os.fsync(descriptor)
            os.close(descriptor)


def bare_sqlite(load: Load, content: bytes, path: Path) -> None:
    with closing(sqlite3.connect(path / "bare.db", isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("CREATE TABLE files (path TEXT NOT NULL, number INTEGER, mode INTEGER, data BLOB)")
        connection.execute("CREATE UNIQUE INDEX files_path ON files (path, number)")
        for package in range(load.packages):
            connection.execute("BEGIN IMMEDIATE")
            for file in range(load.files):
                for number, chunk in enumerate(chunks_of(content)):
                    row = (f"/{package}/{file}", number, 0o644, chunk)
                    connection.execute("INSERT INTO files VALUES (?, ?, ?, ?)", row)
            connection.execute("COMMIT")


def chunks_of(content: bytes) -> Iterator[bytes]:
    for start in range(0, len(content), CHUNK_BYTES):
        yield content[start : start + CHUNK_BYTES]


if __name__ == "__main__":
    main()
