"""Offsets are committed in order despite rollbacks: a tailing reader loses nothing and sees no disorder.

Eight seconds; with ``CALLBOARD_LONG=1`` (``make endurance``) a minute.
"""

import asyncio
import os
import sys
from asyncio.subprocess import PIPE, Process
from pathlib import Path

from callboard.backends.logs.postgres import PostgresLog

WRITER = Path(__file__).with_name("aborting_writer.py")
WRITERS = 10
SECONDS = 60.0 if "CALLBOARD_LONG" in os.environ else 8.0


async def start(url: str, name: str) -> Process:
    return await asyncio.create_subprocess_exec(sys.executable, WRITER, url, name, str(SECONDS), stdout=PIPE)


async def acknowledged_by(process: Process) -> dict[int, str]:
    """The committed records of a writer: texts by offset."""
    out, _ = await process.communicate()
    assert process.returncode == 0
    lines = (line.split(" ", 1) for line in out.decode().splitlines())
    return {int(offset): text for offset, text in lines}


async def tail(log: PostgresLog, writing: asyncio.Future[list[dict[int, str]]]) -> list[tuple[int, str]]:
    """Every record in the order read, until the writers are done and nothing more arrives."""
    found: list[tuple[int, str]] = []
    start = 1
    while True:
        finished = writing.done()
        records = await log.read("package", start) if await log.wait("package", start, 0.2) else []
        found += [(record.offset, record.payload.decode()) for record in records]
        start = found[-1][0] + 1 if found else 1
        if finished and not records:
            return found


def test_ten_writers_that_often_roll_back_lose_nothing_and_keep_their_order(postgres_url: str) -> None:
    async def scenario() -> None:
        log = PostgresLog(postgres_url)
        await log.ensure("package")
        processes = [await start(postgres_url, f"w{number}") for number in range(WRITERS)]
        writing = asyncio.gather(*map(acknowledged_by, processes))
        found = await tail(log, writing)
        acknowledged = {offset: text for each in await writing for offset, text in each.items()}
        await log.close()

        offsets = [offset for offset, _ in found]
        assert offsets == sorted(set(offsets)), "out of order, or twice"
        assert dict(found) == acknowledged, "lost, or never committed"
        assert len(found) < offsets[-1], "no writer rolled back, so this proves nothing"
        for number in range(WRITERS):
            mine = [int(text.split()[1]) for _, text in found if text.startswith(f"w{number} ")]
            assert mine
            assert mine == sorted(mine)
        print(  # noqa: T201 - the figures that this is run for
            f"{len(found)} records of {WRITERS} writers in {SECONDS:.0f} s, 0 lost, 0 out of order; "
            f"{offsets[-1] - len(found)} offsets given and rolled back"
        )

    asyncio.run(scenario())
