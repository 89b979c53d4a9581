"""``/metrics``, ``/livez``, ``/readyz`` and ``/healthz``: for Prometheus, and for probes."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import NamedTuple

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from callboard.board.board import Callboard
from callboard.board.connect.publisher_agent import unreadable
from callboard.board.envelope import Diagnostic, Envelope, written
from callboard.board.read.status.families import CONTENT_TYPE
from callboard.board.subscriber import Subscriber
from callboard.errors import CallboardError
from callboard.escaping import escaped
from callboard.version import __version__
from callboard.web.endpoints.own_metrics import own_metrics
from callboard.web.endpoints.part import Part, Standing, demand, failure, standing
from callboard.web.endpoints.shared import Shared

METRICS_S = 8.0
"""How long metrics may take: by default, Prometheus waits for ten seconds."""

HEADERS = {"Cache-Control": "no-store"}


class Health(NamedTuple):
    """How all parts are, and what is wrong."""

    found: list[Standing]
    problems: list[Diagnostic]


def health_app(board: Callboard, *parts: Part) -> Starlette:
    """The health endpoints of a service, to be mounted in it or served alone.

    ``/livez``: the event loop turns, and no part has failed. ``/readyz``: each part is ready, and the log can be read.
    ``/healthz``: the same in JSON, with details. ``/metrics``: those of the whole board; if all parts are subscribers,
    those that they know of themselves. A reading serves for a second.

    Args:
        board: it must be open while requests come.
        parts: the publishers, subscribers and workers that the service runs, started or not.

    Raises ``ConfigError`` for any other board or part.
    """
    demand(board, parts)

    async def health() -> Health:
        found = await asyncio.gather(*(standing(board.context, part) for part in parts))
        return Health(found, [*await _log_problems(board), *(each.told for each in found if each.problem)])

    async def figures() -> tuple[int, str]:
        try:
            async with asyncio.timeout(METRICS_S):
                edges = [part for part in parts if isinstance(part, Subscriber)]
                own = bool(edges) and len(edges) == len(parts)
                return 200, await (own_metrics(board.context, edges, METRICS_S) if own else board.metrics(METRICS_S))
        except CallboardError as error:
            return 503, f"{escaped(error)}\n"
        except TimeoutError:
            return 503, f"the log has not answered within {METRICS_S:g} s; check its server or disk\n"

    healthy, counted = Shared(health), Shared(figures)

    async def metrics(_: Request) -> Response:
        status, text = await counted.now()
        return Response(text, status, HEADERS, media_type=CONTENT_TYPE if status == 200 else "text/plain")

    async def livez(_: Request) -> Response:
        found = [await failure(board.context, part) for part in parts]
        return _answer([each.told for each in found if each])

    async def readyz(_: Request) -> Response:
        return _answer((await healthy.now()).problems)

    async def healthz(_: Request) -> Response:
        return _detail(await healthy.now())

    answers: dict[str, Callable[[Request], Awaitable[Response]]] = {
        "/metrics": metrics, "/livez": livez, "/readyz": readyz, "/healthz": healthz,
    }  # fmt: skip
    app = Starlette(routes=[Route(path, answer, methods=["GET"]) for path, answer in answers.items()])
    app.router.redirect_slashes = False  # it would go to the host that the client names
    return app


async def _log_problems(board: Callboard) -> list[Diagnostic]:
    """Why the log cannot be read; nothing if it can."""
    try:
        error: CallboardError | None = await unreadable(board.log, (board.settings.topics.package,))
    except CallboardError as closed:
        error = closed
    return [Diagnostic("log_unavailable", escaped(error))] if error else []


def _answer(problems: list[Diagnostic]) -> Response:
    text = "".join(f"{each.message}\n" for each in problems) or "ok\n"
    return PlainTextResponse(text, 503 if problems else 200, HEADERS)


def _detail(health: Health) -> Response:
    codes = {each.code for each in health.problems}
    parts = [
        {"kind": each.kind, "name": each.name, "state": each.state, "ready": not each.problem} for each in health.found
    ]  # fmt: skip
    envelope = Envelope(
        status="ok" if not codes else "attention" if codes == {"not_ready"} else "error",
        data={"callboard": __version__, "log_readable": "log_unavailable" not in codes, "parts": parts},
        diagnostics=tuple(health.problems),
    )
    return Response(written(envelope), 503 if codes else 200, HEADERS, media_type="application/json")
