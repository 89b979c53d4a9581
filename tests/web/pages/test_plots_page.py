"""Plots in the console, of a board that is really read."""

import asyncio
import re
from pathlib import Path

from callboard import Callboard
from callboard.web.console.plots.plots import RANGES
from tests.web.pages.test_log_is_away import on_a_cable
from tests.web.served import READ_S, Reader, reader, run
from tests.web.stage import fleet_of, packages

HOSTILE = "<script>alert(1)</script>"


def later(board: Callboard, seconds: float) -> None:
    """Have the clock of the board show a later time."""
    now_ns = board.context.now_ns
    board.context.now_ns = lambda: now_ns() + round(seconds * 1e9)


async def words(reads: Reader, path: str) -> str:
    return (await reads.words(path)).replace(" ,", ",")


async def until(reads: Reader, path: str, pattern: str) -> str:
    async with asyncio.timeout(30):
        while not re.search(pattern, said := await words(reads, path)):  # noqa: ASYNC110 - the page is asked for
            await asyncio.sleep(READ_S)
    return said


@run
async def test_plots_say_since_when_figures_are_known_and_what_they_are(tmp_path: Path):
    async with Callboard("memory:", base=tmp_path) as board, reader(board) as reads:
        await packages(board, 12)
        await fleet_of(board, ["near", HOSTILE], offset=9)
        await fleet_of(board, ["far"], offset=4)
        said = await until(reads, "/plots", r"all: 1\d, at most")
        assert re.search(r"Figures are known since \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC, when this console began", said)
        assert re.search(r"far: [78], at most", said)
        page = await reads.page("/plots")
        assert page.count("<figure") == 5
        assert "<script>alert" not in page
        assert "style=" not in page
        for word in RANGES:
            assert f'href="?range={word}"' in page
            assert "Figures are known since" in await reads.words(f"/plots?range={word}")
        assert "should be one of 15min, 2h, 2d" in await reads.words("/plots?range=1h", 400)


@run
async def test_deliveries_and_jobs_are_told_by_the_minute_once_there_are_two_samples(tmp_path: Path):
    async with Callboard("memory:", base=tmp_path) as board, reader(board) as reads:
        await packages(board, 3)
        await fleet_of(board, ["a"], offset=0, imported=100)
        await board.jobs.add("mail/send")
        await until(reads, "/plots", r"queued in all: 1, at most 1")
        assert "imported by all subscribers" not in await reads.words("/plots")
        later(board, 60)
        await fleet_of(board, ["a"], offset=0, imported=160, time_ns=board.context.now_ns())
        for _ in range(5):
            await board.jobs.add("mail/send")
        said = await until(reads, "/plots", r"imported by all subscribers: (5\d|60)(\.\d)?, at most")
        assert re.search(r"added: (4\.\d+|5), at most", said)
        assert "ended: 0, at most 0" in said
        assert "nothing is known of this time" in said  # of latencies, which nobody announced


@run
async def test_a_log_that_cannot_be_read_leaves_a_gap(tmp_path: Path):
    board, opened = on_a_cable(tmp_path)
    async with board, reader(board) as reads:
        await packages(board, 3)
        await fleet_of(board, ["a"], offset=0)
        await until(reads, "/plots", r"a: \d, at most \d")
        opened[0].is_off = True
        await until(reads, "/plots", "The log cannot be read since")
        later(board, 300)
        assert re.search(r"all: unknown, at most \d", await words(reads, "/plots"))
        opened[0].is_off = False
        await until(reads, "/plots", r"all: \d, at most \d")
        page = await reads.page("/plots")
        drawn = page.partition("plot-lag")[2].partition("<ul")[0]
        [line] = re.findall(r'class="line line-1" d="(M[^"]*)"', drawn)
        assert line.count("M") == 2


@run
async def test_a_subscriber_has_plots_of_its_position_and_how_far_it_is_behind(tmp_path: Path):
    async with Callboard("memory:", base=tmp_path) as board, reader(board) as reads:
        await packages(board, 12)
        await fleet_of(board, ["far"], offset=4)
        said = await until(reads, "/subscribers/far", r"far: [78], at most")
        assert re.search(r"Position, offset .*far: 4, at most 4", said)
