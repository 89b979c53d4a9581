"""A worker as a process of its own: ``working_service INSTANCE LOG FOLDER``.

Each run of a job writes one line with its id and lease to ``INSTANCE.runs`` in the folder. Once the worker takes jobs,
there is ``INSTANCE.up``.
"""

import asyncio
import os
import sys
from pathlib import Path

from callboard import Callboard
from callboard.board.jobs.running import RunningJob

SLOTS = 10
RUN_S = 0.005


async def main(instance: str, log: str, folder: Path) -> None:
    runs = os.open(folder / f"{instance}.runs", os.O_APPEND | os.O_CREAT | os.O_WRONLY)

    async def work(_: object, job: RunningJob) -> None:
        os.write(runs, f"{job.id} {job.lease}\n".encode())
        await asyncio.sleep(RUN_S)

    board = Callboard(log, blobs="./blobs", base=folder)
    async with board, board.jobs.worker({"work/*": work}, slots=SLOTS, instance=instance, profile="fast"):
        (folder / f"{instance}.up").touch()
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], Path(sys.argv[3])))
