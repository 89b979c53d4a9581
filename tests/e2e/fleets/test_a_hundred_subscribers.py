"""A hundred subscribers of one publisher that grows and shrinks."""

import asyncio
from pathlib import Path

import pytest

from callboard import Callboard

FLEET = 100
REPLACED = 30
FILES = 10
PATIENCE_S = 300.0
"""A hundred agents that share two busy processors take their time."""


@pytest.mark.proves("F105", "F60")
def test_of_a_hundred_subscribers_that_come_and_go_all_that_stay_have_everything(tmp_path: Path) -> None:
    site = tmp_path / "site"
    site.mkdir()

    async def publish(board: Callboard, first: int) -> None:
        for number in range(first, first + FILES):
            (site / f"{number}").write_text(f"{number}")
            await board.publisher("site").publish(site, [f"/{number}"])

    async def play() -> None:
        async with Callboard("memory:", base=tmp_path) as board:
            fleet = [board.subscriber(f"edge-{number}", f"./out/{number}") for number in range(FLEET)]
            await asyncio.gather(*(edge.start() for edge in fleet))
            await publish(board, 0)
            # one that never spoke would not be missed
            await asyncio.gather(*(edge.caught_up(PATIENCE_S) for edge in fleet))
            await asyncio.gather(*(edge.stop() for edge in fleet[:REPLACED]))
            late = [board.subscriber(f"late-{number}", f"./out/late-{number}") for number in range(REPLACED)]
            await asyncio.gather(*(edge.start() for edge in late))
            await publish(board, FILES)
            await asyncio.gather(*(edge.caught_up(PATIENCE_S) for edge in fleet[REPLACED:] + late))

            rows = (await board.status()).subscribers
            assert len(rows) == FLEET + REPLACED
            assert sum(row.liveness == "stopped" for row in rows) == REPLACED
            assert {row.lag_packages for row in rows if row.liveness == "live"} == {0}
            stayed = [f"{number}" for number in range(REPLACED, FLEET)]
            for place in stayed + [f"late-{number}" for number in range(REPLACED)]:
                names = {path.name for path in (tmp_path / "out" / place).iterdir() if path.is_file()}
                assert names == {f"{number}" for number in range(2 * FILES)}
            await asyncio.gather(*(edge.stop() for edge in fleet[REPLACED:] + late))

    asyncio.run(play())
