"""Runs an application on a port, inside the service's event loop. Needs uvicorn, of the extras ``connectors`` and
``web``.
"""

import asyncio
import contextlib
import logging
import socket
import ssl
from collections.abc import Iterator

import uvicorn
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from callboard.errors import ConfigError

CERTIFIED = "certified"
"""The key in a request's state of the names in its sender's certificate. It is not there without TLS."""

_ERRORS = logging.getLogger(__name__)
_ERRORS.setLevel(logging.ERROR)  # any client can cause any number of warnings

CONNECTIONS_MAX = 500
"""Connections at once; further ones get 503."""

KEEP_ALIVE_S = 5

HEADERS_S = 10.0
"""How long a connection may last without a new request: until the end of its headers, however slowly they come. Only an
answer of a server with ``streams`` may go on for longer, if the client never stops reading for that long.
"""

HEADERS_BYTES_MAX = 16 << 10
STOP_S = 2


class Server:
    """Answers on ``port`` from ``start`` until ``stop``.

    Args:
        app: the application.
        address: the host and the port to listen on; port 0 is any free one.
        context: for TLS; plain HTTP without.
        streams: some answers go on for long; they have to end themselves when nobody reads them.
    """

    def __init__(
        self, app: ASGIApp, address: tuple[str, int], context: ssl.SSLContext | None = None, *, streams: bool = False
    ) -> None:
        self._address = address
        config = uvicorn.Config(
            _of_one_length(app), http=_Streaming if streams else _Protocol, ws="none", lifespan="off", log_config=None,
            access_log=False, server_header=False, date_header=False, proxy_headers=False,
            limit_concurrency=CONNECTIONS_MAX, timeout_keep_alive=KEEP_ALIVE_S, timeout_graceful_shutdown=STOP_S,
            h11_max_incomplete_event_size=HEADERS_BYTES_MAX,
        )  # fmt: skip
        config.load()
        config.ssl = context
        self._server = _Uvicorn(config)
        self._task: asyncio.Task[None] | None = None
        self.port = 0

    async def start(self) -> None:
        """Listen. Raises ``ConfigError`` if that is not possible at this address."""
        host, port = self._address
        try:
            family = (await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM))[0][0]
            listening = socket.create_server((host, port), family=family)
        except OSError as error:
            raise ConfigError(f"cannot listen on {host}:{port}: {error}; correct listen, or free the port") from error
        self.port = listening.getsockname()[1]
        self._task = asyncio.create_task(self._server.serve(sockets=[listening]))
        while not self._server.started:
            if self._task.done():
                await self._task
            await asyncio.sleep(0)

    async def stop(self) -> None:
        """Stop listening, and wait for the answers that are under way."""
        self._server.should_exit = True
        if self._task:
            await self._task


def certified(connection: ssl.SSLObject | None) -> frozenset[str]:
    """The DNS names in the certificate of the other side."""
    certificate = (connection.getpeercert() if connection else None) or {}
    names = certificate.get("subjectAltName", ())
    return frozenset(str(each[1]) for each in names if each[0] == "DNS")


def _of_one_length(app: ASGIApp) -> ASGIApp:
    """The application without requests that say twice where they end: a proxy in front may go by the other one, and
    would take for a body what is a request here.
    """

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        if {b"content-length", b"transfer-encoding"} <= {name for name, _ in scope["headers"]}:
            said = "send Content-Length or Transfer-Encoding, not both\n"
            await PlainTextResponse(said, 400, {"Connection": "close"})(scope, receive, send)
        else:
            await app(scope, receive, send)

    return answer


class _Protocol(H11Protocol):
    streams = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as in the base
        """Keep the names of the client's certificate in the state of its requests, if one was demanded."""
        super().connection_made(transport)
        self.logger = _ERRORS
        if connection := transport.get_extra_info("ssl_object"):
            self.app_state = {CERTIFIED: certified(connection)}
        self.loop.call_later(HEADERS_S, self._end_unless_used, None)

    def _end_unless_used(self, before: object) -> None:
        """End the connection if no request has begun since the one before, even if the answer to that is not read."""
        answers = self.streams and self.cycle is not None and not self.cycle.response_complete
        if (self.cycle is before and not answers) or self.transport.is_closing():
            self.transport.abort()  # to close it would be to wait until the answer is read
        else:
            self.loop.call_later(HEADERS_S, self._end_unless_used, self.cycle)


class _Streaming(_Protocol):
    streams = True
    _unread: asyncio.TimerHandle | None = None

    def pause_writing(self) -> None:
        """The client reads too slowly: let it go unless it has caught up soon."""
        super().pause_writing()
        self._unread = self.loop.call_later(HEADERS_S, self.transport.abort)

    def resume_writing(self) -> None:
        """It has caught up."""
        super().resume_writing()
        if self._unread:
            self._unread.cancel()

    def shutdown(self) -> None:
        """End answers that go on: they would be waited for."""
        super().shutdown()
        if self.cycle and self.cycle.response_started and not self.cycle.response_complete:
            self.transport.abort()


class _Uvicorn(uvicorn.Server):
    """Leaves the signals to the service."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield
