"""A process that appends to a Kafka log for some seconds, each append until it is acknowledged.

``appending_writer.py URL NAME SECONDS`` says ``OFFSET NAME NUMBER`` for each record that is acknowledged. What was
given up and tried again may be on the log twice, under the same text.
"""

import asyncio
import random
import sys
import time
from pathlib import Path

from callboard.backends.log import Log
from callboard.backends.registry import open_log
from callboard.cli.terminal.log_setup import configure_logging
from callboard.errors import LogUnavailable
from callboard.messages.record import NewRecord


async def write(url: str, name: str, seconds: float) -> None:
    log, dice, number, until = open_log(url, Path()), random.Random(name), 0, time.monotonic() + seconds
    while time.monotonic() < until:
        texts = [f"{name} {number + part}" for part in range(dice.randint(1, 3))]
        number += len(texts)
        offsets = await persist(log, [NewRecord(payload=text.encode(), key=text) for text in texts])
        for offset, text in zip(offsets, texts, strict=True):
            sys.stdout.write(f"{offset} {text}\n")
    await log.close()


async def persist(log: Log, records: list[NewRecord]) -> list[int]:
    while True:
        try:
            return await log.append("package", records)
        except LogUnavailable:
            continue  # the log makes the pauses


configure_logging("error")  # standard output is for the records
asyncio.run(write(sys.argv[1], sys.argv[2], float(sys.argv[3])))
