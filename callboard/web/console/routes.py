"""Answers requests for pages, their live updates, and static files."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

from callboard.errors import CallboardError, LogError, NotAnswered, RequestRefused
from callboard.web.console.actions.answers import Answers
from callboard.web.console.drawing import STATIC, draw
from callboard.web.console.frame import framed
from callboard.web.console.live import live_updates
from callboard.web.console.page import Page, Question
from callboard.web.console.pages.table import PAGES
from callboard.web.console.watch import Snapshot, Watch
from callboard.web.signin.forms import Forms
from callboard.web.user import User

if TYPE_CHECKING:
    from callboard.board.board import Callboard

NOBODY = User("", "viewer")
NOT_THERE = frozenset({"unknown_name", "not_found"})


def console_routes(board: "Callboard", watch: Watch, *, allow_actions: bool) -> list[BaseRoute]:
    """The routes of the console."""
    readers: set[object] = set()

    def question(request: Request, now: Snapshot) -> Question:
        user: User = getattr(request.state, "user", NOBODY)
        return Question(
            board, now, user, request.path_params, request.query_params,
            acts=allow_actions and user.role == "operator", base=request.scope.get("root_path", ""),
        )  # fmt: skip

    def answer(page: Page) -> Callable[[Request], Awaitable[Response]]:
        async def whole(request: Request) -> Response:
            asked = question(request, await watch.now())
            status, content = await drawn(page, asked)
            live = f"{asked.base}/live{request.url.path.removeprefix(asked.base)}"
            live += f"?{request.url.query}" if request.url.query else ""
            shown = framed(page.title, content, asked.user, asked.base, name=page.name, live=live if page.live else "")
            return HTMLResponse(shown, status)

        return whole

    pages: list[BaseRoute] = [Route(page.path, answer(page), name=page.name) for page in PAGES]
    live: list[BaseRoute] = [
        Route(f"/live{page.path}", live_updates(watch, page, question, drawn, readers)) for page in PAGES if page.live
    ]
    actions = Answers(board, watch, Forms(), allowed=allow_actions).routes()
    return [*live, *pages, *actions, Mount("/static", StaticFiles(directory=STATIC), name="static")]


async def drawn(page: Page, asked: Question) -> tuple[int, str]:
    """The page's content, and its HTTP status."""
    try:
        shown = await page.show(asked)
    except RequestRefused as error:
        return (404 if error.code in NOT_THERE else 400), draw("refused.html", problem=str(error))
    except (LogError, NotAnswered) as error:
        return 503, draw("refused.html", problem=str(error))
    except CallboardError as error:
        return 500, draw("refused.html", problem=str(error))
    frame = {"base": asked.base, "now": asked.now, "acts": asked.acts, "asked": asked}
    return 200, draw(f"pages/{page.name}.html", **frame, **shown)
