"""A driver that archives, and is killed with its Java process before a commit: ``dying_driver.py CONFIG FOLDER``."""

import asyncio
import os
import signal
import sys
import time
from pathlib import Path

from pyspark import SparkContext

from callboard.board.connect.settings import BoardSettings
from callboard.pipeline.archive import archiver
from callboard.pipeline.run import Run
from callboard.pipeline.session import open_session

config, folder = Path(sys.argv[1]), Path(sys.argv[2])
archiver.SEGMENT_BYTES = 1500
commits = iter(range(2))


def on_step(step: str) -> None:
    if step.startswith("committing") and next(commits, None) is None:
        os.kill(SparkContext._gateway.proc.pid, signal.SIGKILL)
        os.kill(os.getpid(), signal.SIGKILL)


log = config.read_text().partition('"')[2].partition('"')[0]
run = Run("archive", open_session("dying"), {"board": str(config)}, time.time_ns, on_step=on_step)
asyncio.run(archiver.archive(run, BoardSettings(log, "", folder), "archive", accept_hole=False, tip=None))
