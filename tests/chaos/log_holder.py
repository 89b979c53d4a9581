"""A process that dies in its turn while a child that it forked lives on: ``log_holder.py FOLDER``.

Prints what the child's own attempt to use the log ended with, and the child's id.
"""

import asyncio
import os
import signal
import sys
from pathlib import Path

from callboard.backends.logs.sqlite import SqliteLog
from callboard.backends.logs.sqlite.turn import Turn
from callboard.messages.record import NewRecord


async def hold(folder: Path) -> None:
    log = SqliteLog(folder)
    await log.ensure("package")
    await log.append("package", [NewRecord(payload=b"from the parent")])
    turn = Turn(folder / "package.lock")
    with turn:
        heard, said = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                log.append("package", [NewRecord(payload=b"from the child")]).send(None)
            except Exception as error:  # noqa: BLE001 - to be told to the test
                os.write(said, type(error).__name__.encode())
            os.closerange(0, 3)
            signal.pause()
        sys.stdout.write(f"{os.read(heard, 100).decode()} {child}\n")
        sys.stdout.flush()
        os.kill(os.getpid(), signal.SIGKILL)


asyncio.run(hold(Path(sys.argv[1])))
