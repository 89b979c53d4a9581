"""Ten processes append while the broker is killed and comes back: nothing is lost, and nothing twice by its id.

Ten seconds; with ``CALLBOARD_LONG=1`` (``make endurance``) a minute.
"""

import asyncio
import os
import sys
import time
from asyncio.subprocess import PIPE, Process
from pathlib import Path

import pytest

from callboard.backends.log import Log
from callboard.backends.registry import open_log
from callboard.errors import LogUnavailable
from callboard.testing.servers.kafka import LocalKafka

pytestmark = pytest.mark.kafka

WRITER = Path(__file__).with_name("appending_writer.py")
WRITERS = 10
SECONDS = 60.0 if "CALLBOARD_LONG" in os.environ else 10.0


async def start(url: str, name: str) -> Process:
    return await asyncio.create_subprocess_exec(sys.executable, WRITER, url, name, str(SECONDS), stdout=PIPE)


async def acknowledged_by(process: Process) -> dict[str, int]:
    """The acknowledged records of a writer: offsets by text."""
    out, _ = await process.communicate()
    assert process.returncode == 0
    lines = (line.split(" ", 1) for line in out.decode().splitlines())
    return {text: int(offset) for offset, text in lines}


async def tail(log: Log, writing: asyncio.Future[list[dict[str, int]]]) -> list[tuple[int, str]]:
    """Every record in the order read, until the writers are done and nothing more arrives."""
    found: list[tuple[int, str]] = []
    start = 0
    while True:
        finished = writing.done()
        try:
            records = await log.read("package", start) if await log.wait("package", start, 0.2) else []
        except LogUnavailable:
            continue
        found += [(record.offset, record.payload.decode()) for record in records]
        start = found[-1][0] + 1 if found else 0
        if finished and not records:
            return found


async def kill_and_start(kafka: LocalKafka) -> None:
    """In the middle of the run."""
    await asyncio.sleep(SECONDS / 2)
    kafka.kill(1)
    await asyncio.to_thread(kafka.start)


def test_ten_writers_lose_nothing_when_the_broker_is_killed(own_kafka: LocalKafka) -> None:
    async def scenario() -> None:
        url = f"kafka://{own_kafka.bootstrap}/?request_timeout_ms=2000"
        log = open_log(url, Path())
        await log.ensure("package")
        began = time.monotonic()
        processes = [await start(url, f"w{number}") for number in range(WRITERS)]
        writing = asyncio.gather(*map(acknowledged_by, processes))
        found, _ = await asyncio.gather(tail(log, writing), kill_and_start(own_kafka))
        acknowledged = {text: offset for each in await writing for text, offset in each.items()}
        await log.close()

        offsets = [offset for offset, _ in found]
        assert offsets == sorted(set(offsets)), "out of order, or read twice"
        ids = list(dict.fromkeys(text for _, text in found))
        by_offset = dict(found)
        assert {text: by_offset.get(offset) for text, offset in acknowledged.items()} == {
            text: text for text in acknowledged
        }, "lost"
        assert set(ids) == acknowledged.keys(), "every append was tried until it was acknowledged"
        for number in range(WRITERS):
            mine = [int(text.split()[1]) for text in ids if text.startswith(f"w{number} ")]
            assert mine == sorted(mine), "out of order"
        print(  # noqa: T201 - the figures that this is run for
            f"{len(acknowledged)} records acknowledged to {WRITERS} writers in {time.monotonic() - began:.0f} s, "
            f"0 lost, 0 out of order, {len(found) - len(ids)} repeated and recognised by their id"
        )

    asyncio.run(scenario())
