"""Answers requests for pages, their live updates, and static files."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import nullcontext
from typing import TYPE_CHECKING
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

from callboard.door.rules import shown
from callboard.errors import CallboardError, LogError, NotAnswered, RequestRefused
from callboard.web.console.actions.answers import Answers
from callboard.web.console.drawing import STATIC, draw, query
from callboard.web.console.frame import framed
from callboard.web.console.live import Pace, live_updates
from callboard.web.console.page import Page, Question, Shown
from callboard.web.console.pages.table import PAGES
from callboard.web.console.watch import Snapshot, Watch
from callboard.web.signin.forms import Forms
from callboard.web.user import User

if TYPE_CHECKING:
    from callboard.board.board import Callboard

NOBODY = User("", "viewer")
NOT_THERE = frozenset({"unknown_name", "not_found", "offset_out_of_range", "topic_missing"})

SHOW_S = 20.0
"""How long a page may take; the longest ones search the log."""


async def _no_page(asked: Question) -> Shown:
    raise RequestRefused(
        f"there is no page {shown(asked.path['path'])}; choose one from the navigation", code="not_found"
    )


NO_PAGE = Page("none", "/{path:path}", "Not found", _no_page, in_navigation=False, live=False)


def console_routes(board: "Callboard", watch: Watch, *, allow_actions: bool, secret: bytes = b"") -> list[BaseRoute]:
    """The routes of the console. The last one has every path that is left."""
    readers, pace = set[object](), Pace()
    searching = asyncio.Semaphore()

    def question(request: Request, now: Snapshot) -> Question:
        user: User = getattr(request.state, "user", NOBODY)
        return Question(
            board, now, user, request.path_params, request.query_params,
            acts=allow_actions and user.role == "operator", base=request.scope.get("root_path", ""),
        )  # fmt: skip

    async def drawn(page: Page, asked: Question) -> tuple[int, str]:
        return await draw_page(page, asked, searching)

    def answer(page: Page) -> Callable[[Request], Awaitable[Response]]:
        async def whole(request: Request) -> Response:
            asked = question(request, await watch.now())
            status, content = await drawn(page, asked)
            here = quote(request.scope["path"].removeprefix(asked.base)) + query(dict(asked.query))
            live = f"{asked.base}/live{here}" if page.is_live(asked.query) else ""
            title = " ".join((page.title, *map(str, asked.path.values())))
            shown = framed(title, content, asked.user, asked.base, name=page.name, live=live)
            return HTMLResponse(shown, status)

        return whole

    pages: list[BaseRoute] = [Route(page.path, answer(page), name=page.name) for page in PAGES]
    live: list[BaseRoute] = [
        Route(f"/live{page.path}", live_updates(watch, page, question, drawn, readers, pace))
        for page in PAGES
        if page.live
    ]
    static = Mount("/static", StaticFiles(directory=STATIC), name="static")
    actions = Answers(board, watch, Forms(secret), allowed=allow_actions).routes()
    return [*live, *pages, *actions, static, Route(NO_PAGE.path, answer(NO_PAGE))]


async def draw_page(page: Page, asked: Question, searching: asyncio.Semaphore) -> tuple[int, str]:
    """The page's content, and its HTTP status; searches wait for each other at ``searching``."""
    waits = page.searches and not page.is_live(asked.query)
    frame = {"base": asked.base, "now": asked.now, "acts": asked.acts, "asked": asked}
    try:
        async with asyncio.timeout(SHOW_S), searching if waits else nullcontext():
            values = await page.show(asked)
    except CallboardError as error:
        return _status(error), draw("refused.html", problem=str(error), **frame)
    except TimeoutError:
        problem = f"this takes longer than {SHOW_S:g} s, perhaps as others search too; ask for less, or try again"
        return 503, draw("refused.html", problem=problem, **frame)
    return 200, draw(f"pages/{page.name}.html", **frame, **values)


def _status(error: CallboardError) -> int:
    if error.code in NOT_THERE:
        return 404
    if isinstance(error, RequestRefused):
        return 400
    return 503 if isinstance(error, LogError | NotAnswered) else 500
