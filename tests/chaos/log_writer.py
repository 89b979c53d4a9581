"""A process that appends to a SQLite log until it is killed: ``log_writer.py FOLDER NAME FIRST``.

It says ``ready``, begins when it reads a line, and says each number with two offsets once its records are
acknowledged: ``NAME NUMBER PART`` for two parts, under keys that are the same whenever they are tried.
"""

import asyncio
import sys
from pathlib import Path

from callboard.backends.logs.sqlite import SqliteLog
from callboard.messages.record import NewRecord


def say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


async def write(folder: Path, name: str, first: int) -> None:
    log = SqliteLog(folder)
    await log.ensure("package")
    say("ready")
    sys.stdin.readline()
    number = first
    while True:
        texts = [f"{name} {number} {part}" for part in range(2)]
        offsets = await log.append("package", [NewRecord(payload=text.encode(), key=text) for text in texts])
        say(f"{number} {offsets[0]} {offsets[1]}")
        number += 1


asyncio.run(write(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])))
