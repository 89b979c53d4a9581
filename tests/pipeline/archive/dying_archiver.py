"""A process that archives a SQLite log and dies before a step: ``dying_archiver.py LOG ARCHIVE STEP``.

A step is any change of the disk: a file created, filled, made durable, named, a folder synced. Ends with 9 if it died,
and with 0 if there are fewer steps.
"""

import asyncio
import os
import secrets
import sys
import tempfile
import time
from pathlib import Path

from callboard.archive.archiver import Archiver
from callboard.archive.stores import folder
from callboard.archive.stores.folder import FolderArchiveStore
from callboard.backends.logs.sqlite import SqliteLog

TOPIC = "board.package"


def dying(step: int):
    left = iter(range(step))

    def before(call):
        def maybe(*args, **kwargs):
            if next(left, None) is None:
                os._exit(9)
            return call(*args, **kwargs)

        return maybe

    return before


async def archive(log_folder: Path, archive_folder: Path) -> None:
    log = SqliteLog(log_folder)
    archiver = Archiver(log, FolderArchiveStore(archive_folder), (TOPIC,), time.time_ns, lambda: secrets.token_hex(16),
                        segment_records=10)  # fmt: skip
    async for _ in archiver.run(TOPIC):
        pass
    await log.close()


before = dying(int(sys.argv[3]))
tempfile.tempdir = sys.argv[2] + ".spool"
Path(tempfile.tempdir).mkdir(exist_ok=True)
folder.sync_folder = before(folder.sync_folder)
os.fsync = before(os.fsync)
os.fchmod = before(os.fchmod)
Path.hardlink_to = before(Path.hardlink_to)
Path.unlink = before(Path.unlink)
asyncio.run(archive(Path(sys.argv[1]), Path(sys.argv[2])))
