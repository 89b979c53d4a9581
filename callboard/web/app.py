"""The application: the console's pages, their live updates, the API, and who may see them."""

from typing import TYPE_CHECKING

from starlette.applications import Starlette

from callboard.web.api.routes import api_routes
from callboard.web.console.routes import console_routes
from callboard.web.console.watch import Watch

if TYPE_CHECKING:
    from callboard.board.board import Callboard


def board_app(board: "Callboard", *, allow_actions: bool = False) -> Starlette:
    """The console and the API of an open board, to be mounted in a service or served alone.

    Args:
        board: it must be open while requests come.
        allow_actions: operators may command subscribers and jobs; otherwise everybody may only look.
    """
    watch = Watch(board)
    routes = [*api_routes(board), *console_routes(board, watch, allow_actions=allow_actions)]
    return Starlette(routes=routes)
