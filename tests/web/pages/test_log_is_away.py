"""Pages while the log cannot be read say since when, and what their figures are of. The API says that it is so."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
from starlette.applications import Starlette

from callboard import Callboard
from callboard.backends.log import Log
from callboard.board.connect.agents import Agents
from callboard.board.connect.opening import open_board_log
from callboard.board.connect.resources import Resources
from callboard.board.connect.settings import BoardSettings
from callboard.board.context import BoardContext
from callboard.errors import LogUnavailable
from callboard.web.api.routes import PREFIX, api_routes
from tests.web.served import reader, run
from tests.web.stage import fleet_of, packages


@asynccontextmanager
async def api(board: Callboard) -> AsyncIterator[httpx.AsyncClient]:
    """Who asks the API of this board."""
    through = httpx.ASGITransport(Starlette(routes=api_routes(board)))
    async with httpx.AsyncClient(transport=through, base_url=f"http://localhost{PREFIX}") as client:
        yield client


class Cut:
    """A log that can be cut off."""

    def __init__(self, log: Log) -> None:
        self._log, self.is_off = log, False

    def __getattr__(self, name: str) -> Any:
        if self.is_off and name in ("read", "bounds", "append", "identity"):
            raise LogUnavailable("the cable <b>is out</b>")
        return getattr(self._log, name)


def on_a_cable(folder: Path) -> tuple[Callboard, list[Cut]]:
    """A board, and the log that it opens."""
    opened: list[Cut] = []

    def open_log(settings: BoardSettings) -> Log:
        opened.append(Cut(open_board_log(settings)))
        return opened[-1]  # type: ignore[return-value]

    settings = BoardSettings(log=f"sqlite:///{folder / 'board.db'}", blobs="", base=folder)
    resources = Resources(settings, open_log)
    return Callboard.on(BoardContext(resources, Agents(resources, "embedded", None))), opened


@run
async def test_the_figures_from_before_stay_and_say_so(tmp_path):
    board, opened = on_a_cable(tmp_path)
    async with board, reader(board) as reads:
        await packages(board, 7)
        await fleet_of(board, ["edge"], offset=3)
        await reads.until("/", "edge idle 4")
        opened[0].is_off = True
        said = await reads.until("/", "The log cannot be read since")
        assert re.search(r"read since [-\d]+ [:\d]+ UTC: .*cable <b>is out</b>.* What you see is of [-\d]+", said)
        assert "edge idle 4" in said
        said = await reads.words("/subscribers/edge")
        assert "Behind 4" in said
        assert "Queue It is not known: the cable <b>is out</b>" in said
        said = await reads.words("/packages/2", 503)
        assert "This cannot be shown The log cannot be read since" in said
        opened[0].is_off = False
        await reads.until("/", "edge idle 4", without="cannot be read")


@run
async def test_nothing_is_said_of_a_log_that_could_never_be_read(tmp_path):
    board, opened = on_a_cable(tmp_path)
    async with board, reader(board) as reads:
        opened[0].is_off = True
        for path in ("/", "/subscribers/edge"):
            said = await reads.words(path, 503)
            assert "Nothing has been read yet" in said
            assert "ever heard of" not in said


@run
async def test_the_api_calls_nobody_ready_or_without_a_queue_by_what_it_knew_before(tmp_path):
    board, opened = on_a_cable(tmp_path)
    async with board, reader(board) as reads:
        await packages(board, 3)
        await fleet_of(board, ["edge"], offset=3, ready=True, ready_reason="idle")
        await reads.until("/", "edge idle 0")
        asked = ("/subscribers/edge", "/subscribers/edge/ready", "/subscribers/edge/queue", "/cohorts")
        async with api(board) as client:
            assert [(await client.get(path)).json()["status"] for path in asked] == ["ok"] * 4
            opened[0].is_off = True
            for path in asked:
                answer = await client.get(path)
                assert (answer.status_code, answer.json()["status"]) == (503, "error"), (path, answer.text)
                assert "the cable" in answer.json()["diagnostics"][0]["message"]
            found = (await client.get("/status")).json()
            assert (found["status"], found["diagnostics"][0]["code"]) == ("attention", "problem")
