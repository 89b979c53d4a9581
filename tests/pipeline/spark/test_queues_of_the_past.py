"""What the jobs say of a moment is what the board said at that moment."""

import asyncio
import os
import random
from contextlib import suppress
from pathlib import Path

import pytest

from callboard import Callboard, NotAllImported
from callboard.pipeline.jobs import Moment, queue_at
from callboard.pipeline.run import Run
from callboard.pipeline.tables.queues import queue_states
from callboard.pipeline.tables.standings import standings

MOMENTS = 20
EVERY = 1 if "CALLBOARD_LONG" in os.environ else 2
"""Of the moments, how many one stands for: Spark takes two seconds for each."""

SEED = 7


class Bad(Exception):
    """What the hook of a failing subscriber raises."""


async def a_run(url: str, folder: Path, dice: random.Random) -> list[tuple[Moment, dict[str, tuple[int, int, int]]]]:
    """Publishers and subscribers that come and go, and one that is always at it; at 20 moments what the board said."""
    seen = []
    async with Callboard(url) as board, board.subscriber("always", folder / "always"):
        for number in range(MOMENTS):
            for _ in range(dice.randrange(4)):
                source = folder / "site"
                source.mkdir(exist_ok=True)
                (source / f"{dice.randrange(5)}.html").write_text("x" * dice.choice([dice.randrange(1, 500), 100_000]))
                recipients = dice.choice([(), (), ("blue",), ("all", "failing")])
                of = board.publisher(dice.choice(["blue", "red"]))
                await of.publish(source, recipients=recipients, expect=True, replace_root=True)
            who = dice.choice(["all", "blue", "editable", "failing"])
            if who == "editable" and number % 2 and "editable" in await rows(board):
                await cleared(board, folder)
            else:
                async with board.subscriber(who, folder / who, **OPTIONS[who]) as agent:
                    with suppress(NotAllImported):
                        await agent.caught_up()
            seen.append(await moment_of(board))
    return seen


async def moment_of(board: Callboard) -> tuple[Moment, dict[str, tuple[int, int, int]]]:
    """The queues of the board and their offset: read again if a subscriber announced something meanwhile."""
    topics, log = board.settings.topics, board.log

    async def ends() -> Moment:
        names = ("package", "status", "discovery")
        return Moment(**{name: (await log.bounds(getattr(topics, name))).end for name in names})

    while True:
        before, found = await ends(), await rows(board)
        if before == await ends():
            return before, found


def fail(_):
    raise Bad("no room")


OPTIONS = {
    "all": {},
    "blue": {"follows": ("blue",)},
    "editable": {"editable": True},
    "failing": {"max_retries": 0, "before_import": fail},
}


async def cleared(board: Callboard, folder: Path) -> None:
    """A subscriber of which everything is cleared as soon as it runs, or which was faster."""
    async with board.subscriber("editable", folder / "editable", editable=True) as agent:
        await board.clear("editable")
        await agent.caught_up()


async def rows(board: Callboard) -> dict[str, tuple[int, int, int]]:
    """Position, size and bytes of each queue."""
    found = {}
    for row in (await board.status()).subscribers:
        queue = await board.queue(row.name, publisher="blue" if row.name == "blue" else "")
        found[row.name] = (row.offset, queue.size, queue.length)
    return found


@pytest.fixture
def run(spark, sqlite_log, tmp_path) -> Run:
    config = tmp_path / "callboard.toml"
    config.write_text(f'log = "{sqlite_log.url}"\n')
    return Run("test", spark, {"board": str(config)}, clock=lambda: 1)


@pytest.mark.timeout(600)
def test_past_queues_equal_those_that_the_board_showed(run, sqlite_log, tmp_path):
    seen = asyncio.run(a_run(sqlite_log.url, tmp_path, random.Random(SEED)))
    assert any(row[1] for _, board in seen for row in board.values()), "all queues were always empty"
    with run.reading() as (topics, _):
        tables = {name: topics.kept(name) for name in ("discovery", "status", "package")}
        extent = topics.extent("package")
        for moment, board in seen[::EVERY]:
            then = {name: table.where(f"offset < {getattr(moment, name)}") for name, table in tables.items()}
            standing = standings(then["discovery"], then["status"], extent)
            assert figures(queue_states(then["package"], standing).collect()) == board, f"seed {SEED}, {moment}"
    moment, board = seen[MOMENTS // 2]
    queues, _, report = queue_at(run, moment)
    assert figures(queues) == board
    read = report.topics["package"]
    assert (read["stop"], read["records"], read["problems"]) == (moment.package, moment.package - 1, 0)


def figures(queues) -> dict[str, tuple[int, int, int]]:
    return {row["subscriber"]: (row["position"], row["size"], row["length"]) for row in queues}
