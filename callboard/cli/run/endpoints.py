"""``--listen``: metrics and health of a long-running command, over HTTP."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import structlog

from callboard.door.addresses import listening

if TYPE_CHECKING:
    from callboard.board.board import Callboard
    from callboard.web.endpoints.part import Part

OFF = "0"

Address = tuple[str, int] | None


def checked_address(listen: str | None) -> Address:
    """Where to listen, if anywhere. Raises ``ConfigError`` for a wrong address, and ``ExtraMissing``."""
    if listen is None or listen == OFF:
        return None
    import callboard.web  # noqa: F401 - raises now what it lacks, before anything starts

    return listening(listen)


@asynccontextmanager
async def endpoints(board: "Callboard", address: Address, *parts: "Part") -> AsyncIterator[None]:
    """Answer at this address about the board and these parts of the command, started or not.

    Raises ``ConfigError`` if the port is not available.
    """
    if address is None:
        yield
        return
    from callboard.http_server import Server
    from callboard.web import health_app

    server = Server(health_app(board, *parts), address)
    await server.start()
    structlog.get_logger().info("endpoints.started", host=address[0], port=server.port)
    try:
        yield
    finally:
        await server.stop()
