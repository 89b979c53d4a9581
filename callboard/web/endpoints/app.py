"""``/metrics``, ``/livez``, ``/readyz`` and ``/healthz``: for Prometheus, and for probes."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from callboard.board.connect.publisher_agent import unreadable
from callboard.board.read.status.families import CONTENT_TYPE
from callboard.board.subscriber import Subscriber
from callboard.errors import CallboardError
from callboard.escaping import escaped
from callboard.version import __version__
from callboard.web.endpoints.own_metrics import own_metrics
from callboard.web.endpoints.part import Part, Standing, standing
from callboard.web.endpoints.shared import Shared

if TYPE_CHECKING:
    from callboard.board.board import Callboard

METRICS_S = 8.0
"""How long metrics may take: by default, Prometheus waits for ten seconds."""

HEADERS = {"Cache-Control": "no-store"}


def health_app(board: "Callboard", *parts: Part) -> Starlette:
    """The health endpoints of a service, to be mounted in it or served alone.

    ``/livez``: the event loop turns, and no part has failed. ``/readyz``: each part is ready, and the log can be read.
    ``/healthz``: the same in JSON, with details. ``/metrics``: those of the whole board; if all parts are subscribers,
    those that they know of themselves. A reading serves for a second.

    Args:
        board: it must be open while requests come.
        parts: the publishers, subscribers and workers that the service runs, started or not.
    """

    async def stand() -> list[Standing]:
        return [await standing(board.context, part) for part in parts]

    async def health() -> tuple[list[Standing], str]:
        return await stand(), await _problem(board)

    async def figures() -> tuple[int, str]:
        try:
            async with asyncio.timeout(METRICS_S):
                edges = [part for part in parts if isinstance(part, Subscriber)]
                own = bool(edges) and len(edges) == len(parts)
                return 200, await (own_metrics(board.context, edges) if own else board.metrics(METRICS_S))
        except CallboardError as error:
            return 503, f"{escaped(error)}\n"
        except TimeoutError:
            return 503, f"the log has not answered within {METRICS_S:g} s; check its server or disk\n"

    alive, healthy, counted = Shared(stand), Shared(health), Shared(figures)

    async def metrics(_: Request) -> Response:
        status, text = await counted.now()
        return Response(text, status, HEADERS, media_type=CONTENT_TYPE if status == 200 else "text/plain")

    async def livez(_: Request) -> Response:
        return _answer([f"{_name(each)} has failed: {each.problem}" for each in await alive.now() if each.failed])

    async def readyz(_: Request) -> Response:
        found, problem = await healthy.now()
        return _answer([each for each in (problem, *map(_not_ready, found)) if each])

    async def healthz(_: Request) -> Response:
        found, problem = await healthy.now()
        return _detail(found, problem)

    answers: dict[str, Callable[[Request], Awaitable[Response]]] = {
        "/metrics": metrics, "/livez": livez, "/readyz": readyz, "/healthz": healthz,
    }  # fmt: skip
    app = Starlette(routes=[Route(path, answer, methods=["GET"]) for path, answer in answers.items()])
    app.router.redirect_slashes = False  # it would go to the host that the client names
    return app


async def _problem(board: "Callboard") -> str:
    """Why the log cannot be read; empty if it can."""
    try:
        error: CallboardError | None = await unreadable(board.log, (board.settings.topics.package,))
    except CallboardError as closed:
        error = closed
    return str(error or "")


def _name(each: Standing) -> str:
    return f"{each.kind} {each.name}"


def _not_ready(each: Standing) -> str:
    return f"{_name(each)}: {each.problem}" if each.problem else ""


def _answer(problems: list[str]) -> Response:
    text = "".join(f"{escaped(each)}\n" for each in problems) or "ok\n"
    return PlainTextResponse(text, 503 if problems else 200, HEADERS)


def _detail(found: list[Standing], problem: str) -> Response:
    diagnostics = [{"code": "log_unavailable", "message": escaped(problem)}] if problem else []
    diagnostics += [
        {"code": "failed" if each.failed else "not_ready", "message": escaped(_not_ready(each))}
        for each in found if each.problem
    ]  # fmt: skip
    status = "error" if problem or any(each.failed for each in found) else "attention" if diagnostics else "ok"
    parts = [
        {"kind": each.kind, "name": each.name, "state": each.state, "ready": not each.problem} for each in found
    ]  # fmt: skip
    data = {"callboard": __version__, "log_readable": not problem, "parts": parts}
    content = {"version": 1, "status": status, "data": data, "diagnostics": diagnostics}
    return JSONResponse(content, 200 if status == "ok" else 503, HEADERS)
