"""Answers requests to the API."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from starlette.convertors import PathConvertor, register_url_convertor
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route
from starlette.types import Receive, Scope, Send

from callboard.board.envelope import enclosed
from callboard.errors import CallboardError
from callboard.logger import get_logger
from callboard.web.api.answers import HEADERS, answered, failed, refused
from callboard.web.api.follow import Following
from callboard.web.api.openapi import document
from callboard.web.api.parameters import arguments
from callboard.web.api.read import Read
from callboard.web.api.reads.table import FOLLOWS, READS

if TYPE_CHECKING:
    from callboard.board.board import Callboard

PREFIX = "/api/v1"

READS_MAX = 8
"""Questions at a time; others wait. Each may read much of the log, and hold a page of a thousand items."""

ANSWER_S = 60.0
"""How long a question may take, that wait included."""

Answer = Callable[[Request], Awaitable[Response]]


class AnyPath(PathConvertor):
    """The rest of a path, line feeds included: the name of a subscriber of a site has slashes."""

    regex = r"[\s\S]*"


register_url_convertor("any", AnyPath())


class Endpoint:
    """Answers GET and HEAD, and tells all other methods that they are not for it."""

    def __init__(self, name: str, answer: Answer) -> None:
        self._name, self._answer = name, answer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        request = Request(scope, receive)
        if request.method in ("GET", "HEAD"):
            response = await self._guarded(request)
        else:
            response = refused(405, "method", f"{request.method} is not allowed here", {"Allow": "GET, HEAD"})
        await response(scope, receive, send)

    async def _guarded(self, request: Request) -> Response:
        try:
            return await self._answer(request)
        except TimeoutError:
            return refused(503, "not_answered", f"there was no answer within {ANSWER_S:g} s", {"Retry-After": "60"})
        except CallboardError as error:
            response = failed(error)
            if response.status_code == 500:
                get_logger().error("request.failed", operation=self._name, reason=str(error))
            return response
        except Exception as error:  # noqa: BLE001 - the service goes on
            reason = f"{type(error).__name__}: {error}"
            get_logger().exception("request.failed", operation=self._name, reason=reason)
            return refused(500, "bug", "an error that callboard did not expect; its log has the operation")


def api_routes(board: "Callboard") -> list[BaseRoute]:
    """The routes of the API of an open board."""
    room = asyncio.Semaphore(READS_MAX)
    following = Following(board)

    def reading(read: Read) -> Answer:
        async def answer(request: Request) -> Response:
            given = arguments(read.parameters, request.path_params, request.scope["query_string"])
            async with asyncio.timeout(ANSWER_S), room:
                found = await read.ask(board, **given)
            return answered(enclosed(found, "attention" if read.attention(found) else "ok"))

        return answer

    async def openapi(request: Request) -> Response:
        arguments((), {}, request.scope["query_string"])
        return Response(document(), headers=HEADERS, media_type="application/json")

    async def nothing(_: Request) -> Response:
        return refused(404, "not_found", f"there is no such path; {PREFIX}/openapi.json lists all")

    answers: list[tuple[str, str, Answer]] = [
        ("/openapi.json", "openapi", openapi),
        *((each.path, each.name, following.answer(each)) for each in FOLLOWS),
        *((each.path, each.name, reading(each)) for each in READS),
        ("/{rest:any}", "nothing", nothing),
    ]
    answers = [(path.replace("{subscriber}", "{subscriber:any}"), name, answer) for path, name, answer in answers]
    return [Route(PREFIX + path, Endpoint(name, answer), name=f"api {name}") for path, name, answer in answers]
