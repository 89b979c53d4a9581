"""A relay that kills itself at a step: ``dying_relay.py DATABASE LOG STEP``."""

import asyncio
import os
import signal
import sys
from typing import Any

from callboard import Callboard
from callboard.backends.logs.sqlite import SqliteLog
from callboard.backends.postgres.outbox import OutboxTable

PLACES = {
    "assigning": (OutboxTable, "rows"),
    "appending": (SqliteLog, "append"),
    "removing": (OutboxTable, "remove"),
}


def plant(when: str, place: str) -> None:
    kind, name = PLACES[place]
    real = getattr(kind, name)

    async def dying(self: Any, *args: Any) -> Any:
        if when == "after":
            await real(self, *args)
        os.kill(os.getpid(), signal.SIGKILL)

    setattr(kind, name, dying)


async def main(database: str, log: str, step: str) -> None:
    plant(*step.split("-"))
    async with Callboard(log) as board, board.jobs.outbox(database):
        await asyncio.Event().wait()


asyncio.run(main(*sys.argv[1:]))
