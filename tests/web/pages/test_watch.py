"""The console reads the board seldom while nobody looks, and at once for somebody who does."""

import asyncio
from pathlib import Path

from callboard import Callboard
from callboard.web.console.watch import Watch
from tests.web.served import run
from tests.web.stage import fleet_of

NEVER_S = 3600.0


@run
async def test_who_looks_after_a_while_sees_what_is_there_now(tmp_path: Path):
    async with Callboard("memory:", base=tmp_path) as board:
        watch = Watch(board, read_s=0.01, idle_s=NEVER_S)
        first = await watch.now()
        async with asyncio.timeout(30):
            while (await watch.after(first.number, 0.1)).number == first.number:
                pass  # until it rests
        await fleet_of(board, ["edge"])
        async with asyncio.timeout(30):
            while not (await watch.now()).status.subscribers:  # noqa: ASYNC110 - it is asked by looking
                await asyncio.sleep(0.03)
        await watch.stop()
