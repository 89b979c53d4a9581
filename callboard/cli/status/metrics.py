"""``callboard metrics``: the status as metrics for Prometheus."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from callboard.board.read.status.metrics import CONTENT_TYPE
from callboard.cli.board import on_board
from callboard.cli.options import BoardOptions
from callboard.cli.terminal.output import show
from callboard.errors import CallboardError, ConfigError

if TYPE_CHECKING:
    from callboard.board.board import Callboard

REQUEST_S = 10.0
"""Timeout for a request to arrive and for its answer to be read, so that no idle connection stays open."""
HEADERS_MAX = 100


def metrics(options: BoardOptions) -> None:
    """Print the board's metrics in the text format of Prometheus, such as for node exporter's textfiles."""
    show(*on_board(options, lambda board: board.metrics()).rstrip("\n").split("\n"))


@asynccontextmanager
async def metrics_server(board: "Callboard", port: int) -> AsyncIterator[None]:
    """Answer every GET of ``/metrics`` on this port of the loopback interface.

    Raises ``ConfigError`` if the port is not available.
    """

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(REQUEST_S):
                line = await _request_line(reader)
            writer.write(await _answer(board, line))
            writer.close()
            async with asyncio.timeout(REQUEST_S):
                await writer.wait_closed()
        except (TimeoutError, ValueError, ConnectionError):
            pass  # the client does not speak HTTP, does not listen, or is gone
        finally:
            writer.transport.abort()

    try:
        server = await asyncio.start_server(serve, "127.0.0.1", port)
    except OSError as error:
        raise ConfigError(f"metrics cannot be served on port {port}: {error}; choose another one") from error
    async with server:
        yield


async def serve_metrics(board: "Callboard", port: int) -> None:
    """The same, for ever."""
    async with metrics_server(board, port):
        await asyncio.Event().wait()


async def _request_line(reader: asyncio.StreamReader) -> bytes:
    """The first line of a request, once all its headers have arrived."""
    line = await reader.readline()
    for _ in range(HEADERS_MAX):
        if not (await reader.readline()).strip():
            break
    return line


async def _answer(board: "Callboard", line: bytes) -> bytes:
    if line.split()[:2] != [b"GET", b"/metrics"]:
        return _response("404 Not Found", "only GET /metrics is here\n")
    try:
        return _response("200 OK", await board.metrics())
    except CallboardError as error:
        return _response("503 Service Unavailable", f"{error}\n")


def _response(status: str, text: str) -> bytes:
    body = text.encode()
    head = (f"HTTP/1.1 {status}", f"Content-Type: {CONTENT_TYPE}", f"Content-Length: {len(body)}", "Connection: close")
    return "\r\n".join((*head, "", "")).encode() + body
