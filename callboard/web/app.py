"""The application: the console's pages, their live updates, the API, and who may see them."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response

from callboard.board.board import Callboard
from callboard.door.rules import Rule, Unfit, checked, flag, instance_of
from callboard.errors import ConfigError
from callboard.web.api.routes import api_routes
from callboard.web.console.routes import console_routes
from callboard.web.console.watch import WATCHES, Watch
from callboard.web.signin.access import Access
from callboard.web.signin.guard import Guard, method_of
from callboard.web.signin.headers import SECURE
from callboard.web.signin.methods import Decide
from callboard.web.signin.refusal import Refusal
from callboard.web.signin.sessions import session_secret

ONLY_THIS_HOST = Access()


def board_app(board: Callboard, *, allow_actions: bool = False, access: Access | Decide = ONLY_THIS_HOST) -> Starlette:
    """The console and the API of an open board, to be mounted in a service or served alone.

    Args:
        board: it must be open while requests come; see ``board_lifespan``.
        allow_actions: operators may command subscribers and jobs; otherwise it is read-only.
        access: who may see it: settings; or a function, which may be asynchronous, that gives the ``User`` who sends a
            request, or None, as the service's own sign-in tells. Default: only this host.

    Raises:
        ConfigError: an argument is of another kind, or a file of the settings cannot be used.
        ExtraMissing: what signs in at an OpenID provider is not installed.
    """
    checked(ConfigError, ARGUMENTS, {"board": board, "allow_actions": allow_actions, "access": access})
    secret = session_secret(access.secret_file if isinstance(access, Access) else "")
    method = method_of(access, secret)
    watch = Watch(board)
    pages = console_routes(board, watch, allow_actions=allow_actions, secret=secret)
    return Starlette(
        routes=[*method.routes, *api_routes(board), *pages],
        middleware=[Middleware(Guard, method=method, proxies=access.networks() if isinstance(access, Access) else ())],
        exception_handlers={Exception: _failed},
    )


def board_lifespan(board: Callboard) -> Callable[[object], AbstractAsyncContextManager[None]]:
    """The lifespan of a service that mounts the ``board_app`` of this board: the board is open while the service runs.

    Raises ``ConfigError`` if it is no board.
    """
    checked(ConfigError, ARGUMENTS, {"board": board})

    @asynccontextmanager
    async def lifespan(_: object) -> AsyncIterator[None]:
        async with board, watched(board):
            yield

    return lifespan


@asynccontextmanager
async def watched(board: Callboard) -> AsyncIterator[None]:
    """Within this context, what was made to read the board for pages does so, also for plots while nobody looks."""
    for watch in [each for each in WATCHES if each.board is board]:
        watch.start()
    try:
        yield
    finally:
        for watch in [each for each in WATCHES if each.board is board]:
            await watch.stop()


async def _failed(request: Request, _: Exception) -> Response:
    """The answer after a bug; the server logs the error."""
    refusal = Refusal(500, "internal", "this is a bug, here or in the service's sign-in; the log says more", SECURE)
    return refusal.answer(request)


def _access(value: Any) -> Any:
    if not isinstance(value, Access) and (isinstance(value, type) or not callable(value)):
        raise Unfit(value, "an Access, or a function from a request to a User or None")
    return value


ARGUMENTS: dict[str, Rule] = {"board": instance_of(Callboard), "allow_actions": flag, "access": _access}
