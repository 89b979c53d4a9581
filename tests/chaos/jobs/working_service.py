"""A worker as a process of its own: ``working_service INSTANCE LOG FOLDER PROFILE``.

Each run of a job is a row in the table ``effects`` of the folder's database. The first one of a job also counts in
``fenced``, which takes a job only once. When the worker takes jobs, there is ``INSTANCE.up``.
"""

import asyncio
import sqlite3
import sys
import threading
import time
from pathlib import Path

from callboard import Callboard
from callboard.board.jobs.work.running_job import RunningJob

SLOTS = 10
RUN_S = 0.005
LOCKED_S = 60.0
"""Another process may be suspended while it writes."""


def effects(folder: Path) -> sqlite3.Connection:
    """The database of effects. It need not survive the loss of the machine."""
    database = sqlite3.connect(folder / "effects.db", timeout=LOCKED_S, isolation_level=None, check_same_thread=False)
    database.execute("pragma journal_mode = wal")
    database.execute("pragma synchronous = off")
    return database


def create(folder: Path) -> None:
    """Create the tables."""
    with effects(folder) as database:
        database.execute("create table effects (job integer, lease integer)")
        database.execute("create table fenced (job integer primary key)")
        database.execute("create table counter (value integer)")
        database.execute("insert into counter values (0)")
    database.close()


async def main(instance: str, log: str, folder: Path, profile: str) -> None:
    database, writing = effects(folder), threading.Lock()

    def work(_: object, job: RunningJob) -> None:  # in a thread, so that the service goes on while the table is locked
        with writing:
            database.execute("begin immediate")
            database.execute("insert into effects values (?, ?)", (job.id, job.lease))
            if database.execute("insert or ignore into fenced values (?)", (job.id,)).rowcount:
                database.execute("update counter set value = value + 1")
            database.execute("commit")
        time.sleep(RUN_S)

    board = Callboard(log, blobs="./blobs", base=folder)
    async with board, board.jobs.worker({"work/*": work}, slots=SLOTS, instance=instance, profile=profile):
        (folder / f"{instance}.up").touch()
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], Path(sys.argv[3]), sys.argv[4]))
