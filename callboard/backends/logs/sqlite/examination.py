"""The checks of ``callboard doctor`` for a SQLite log: its folder, and processes that block appends."""

import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from callboard.backends.examination import Finding, problem
from callboard.backends.local.file_locks import lock_holders
from callboard.backends.local.folder_examination import examine_place
from callboard.backends.logs.sqlite.schema import Files

LOOKS = 10
LOOK_S = 0.1
"""A turn takes milliseconds. A process that holds it at every check, for a second, is stopped or stuck."""


def examine(folder: Path, topics: Sequence[str]) -> list[Finding]:
    """Check the folder and the turns to append. Blocks for up to a second."""
    found = examine_place("log", folder)
    if keepers := _keepers({topic: Files.of(folder, topic).lock for topic in topics}, time.sleep):
        found += [
            problem(
                f"process {process} keeps the turn to append to topic {topic}, so all others wait",
                f"inspect it (ps {process}), continue it (kill -CONT {process}), or end it",
            )
            for topic, process in keepers.items()
        ]
    return found


def _keepers(locks: dict[str, Path], sleep: Callable[[float], None]) -> dict[str, int]:
    """The processes that held the lock of a topic at every check."""
    kept: dict[str, int] = {}
    for look in range(LOOKS):
        holders = lock_holders()
        now = {topic: holders[file] for topic, path in locks.items() if (file := _file(path)) in holders}
        kept = now if not look else {topic: process for topic, process in kept.items() if now.get(topic) == process}
        if not kept:
            break
        sleep(LOOK_S)
    return kept


def _file(path: Path) -> tuple[int, int, int]:
    try:
        status = path.stat()
    except OSError:
        return -1, -1, -1
    return os.major(status.st_dev), os.minor(status.st_dev), status.st_ino
