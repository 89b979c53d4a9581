"""Clients that send nothing, too much, or never read what they asked for, do the server of the console no harm."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator

import pytest
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from callboard import http_server
from callboard.http_server import CONNECTIONS_MAX, HEADERS_BYTES_MAX, Server
from callboard.web.console.live import Stream
from tests.web.signin.consoles import browser, console, run

PIECE = "x" * 200_000
GET = b"GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n"


class Endless:
    """An application with a page, and a stream of large pieces."""

    def __init__(self) -> None:
        self.open = self.sent = 0
        self.server = Server(
            Starlette(routes=[Route("/", self._page), Route("/live", self._live)]), ("127.0.0.1", 0), streams=True
        )

    async def _page(self, _: object) -> Response:
        return PlainTextResponse("well")

    async def _live(self, _: object) -> Response:
        async def piece() -> str:
            await asyncio.sleep(0)
            self.sent += 1
            return PIECE

        return Stream(piece, lambda: self._count(1), lambda: self._count(-1))

    def _count(self, change: int) -> None:
        self.open += change

    def buffered(self) -> int:
        """Bytes that wait to be read."""
        found = [each.transport.get_write_buffer_size() for each in self.server._server.server_state.connections]
        return sum(found)

    async def connect(self, sent: bytes) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.server.port, limit=1 << 16)
        writer.write(sent)
        return reader, writer


@contextlib.asynccontextmanager
async def endless() -> AsyncIterator[Endless]:
    it = Endless()
    await it.server.start()
    try:
        yield it
    finally:
        await it.server.stop()


async def until(true, wait_s: float = 0.01) -> None:
    while not true():  # noqa: ASYNC110 - anything that is true in the end
        await asyncio.sleep(wait_s)


async def ends(reader: asyncio.StreamReader) -> bytes:
    """What comes until the server ends the connection."""
    with contextlib.suppress(ConnectionError):
        return await reader.read()
    return b""


@run
async def test_a_client_that_never_ends_its_headers_is_let_go(monkeypatch):
    monkeypatch.setattr(http_server, "HEADERS_S", 0.2)
    async with endless() as it:
        reader, writer = await it.connect(b"GET / HTTP/1.1\r\n")
        with contextlib.suppress(ConnectionError):
            while not reader.at_eof():
                writer.write(b"X: y\r\n")
                await writer.drain()
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(0.02):
                        await reader.read(1)
        writer.close()
        await until(lambda: not it.server._server.server_state.connections)


@run
async def test_huge_headers_are_refused():
    async with endless() as it:
        reader, writer = await it.connect(b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"y" * (1 << 20))
        answer = await ends(reader)
        assert answer.startswith(b"HTTP/1.1 400") or answer == b""  # the rest of what was sent may have reset it
        writer.close()
        reader, writer = await it.connect(b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"y" * HEADERS_BYTES_MAX)
        assert (await ends(reader)).startswith(b"HTTP/1.1 400")
        writer.close()


@run
async def test_a_request_that_says_twice_where_it_ends_is_refused_with_all_that_follows():
    async with endless() as it:
        twice = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
        reader, writer = await it.connect(twice + GET % b"/")
        answer = await ends(reader)
        assert answer.startswith(b"HTTP/1.1 400")
        assert answer.count(b"HTTP/1.1") == 1
        writer.close()


@run
async def test_head_of_a_stream_has_an_end():
    async with endless() as it, browser(f"http://127.0.0.1:{it.server.port}") as client:
        answer = await client.head("/live")
        assert (answer.status_code, answer.headers["content-type"]) == (200, "text/event-stream; charset=utf-8")
        assert (it.open, it.sent) == (0, 0)


@run
async def test_600_connections_do_not_end_it_and_others_are_served_when_they_have_timed_out(monkeypatch):
    monkeypatch.setattr(http_server, "HEADERS_S", 1.5)
    async with endless() as it, browser(f"http://127.0.0.1:{it.server.port}") as client:
        silent = [await it.connect(b"") for _ in range(600)]
        await until(lambda: len(it.server._server.server_state.connections) > CONNECTIONS_MAX)
        assert (await client.get("/")).status_code == 503
        await asyncio.gather(*(ends(reader) for reader, _ in silent))
        assert (await client.get("/")).text == "well"
        for _, writer in silent:
            writer.close()


@run
async def test_a_client_that_never_reads_its_stream_takes_bounded_memory_and_is_let_go(monkeypatch):
    monkeypatch.setattr(http_server, "HEADERS_S", 0.5)
    async with endless() as it:
        _, writer = await it.connect(GET % b"/live")
        writer.transport.pause_reading()
        await until(lambda: it.buffered() > 0)
        most = 0
        while it.open:
            most = max(most, it.buffered())
            await asyncio.sleep(0.01)
        assert most < 2 * len(PIECE)
        assert it.buffered() == 0
        writer.transport.abort()


@run
async def test_a_client_that_reads_slowly_but_goes_on_keeps_its_stream(monkeypatch):
    monkeypatch.setattr(http_server, "HEADERS_S", 0.3)
    async with endless() as it:
        reader, writer = await it.connect(GET % b"/live")
        loop = asyncio.get_running_loop()
        began_s = loop.time()
        while loop.time() - began_s < 1.2:
            assert await reader.readexactly(len(PIECE))
            await asyncio.sleep(0.01)
        assert it.open == 1
        writer.close()
        await until(lambda: not it.open)


@run
async def test_a_client_that_leaves_a_stream_that_ended_unread_is_let_go(monkeypatch):
    """Its connection waits to be read, so closing it would be to wait for ever."""
    monkeypatch.setattr(http_server, "HEADERS_S", 0.3)
    async with endless() as it:
        _, writer = await it.connect(GET % b"/live")
        writer.transport.pause_reading()
        await until(lambda: it.buffered() > 0)
        (connection,) = it.server._server.server_state.connections
        connection.transport.close()
        await until(lambda: not it.server._server.server_state.connections)
        writer.transport.abort()


@run
async def test_a_stop_waits_for_no_stream_and_logs_nothing(caplog):
    caplog.set_level(logging.DEBUG)
    async with endless() as it:
        streams = [await it.connect(GET % b"/live") for _ in range(20)]
        for reader, _ in streams:
            await reader.readexactly(1000)
        assert it.open == 20
        loop = asyncio.get_running_loop()
        began_s = loop.time()
        await it.server.stop()
        assert loop.time() - began_s < http_server.STOP_S
        await until(lambda: not it.open)
        for _, writer in streams:
            writer.transport.abort()
    assert not [each for each in caplog.records if each.levelno >= logging.WARNING]


@run
async def test_200_open_pages_of_one_client_are_all_kept_up_to_date():
    async with console() as someone, contextlib.AsyncExitStack() as stack:
        someone._transport._pool._max_connections = 300
        streams = [
            await stack.enter_async_context(someone.stream("GET", f"/live/?page={number}")) for number in range(200)
        ]
        pieces = [stream.aiter_text() for stream in streams]
        for _ in range(2):
            found = await asyncio.gather(*(anext(each) for each in pieces))
            assert all("event: page" in each or ": the same" in each for each in found)
        assert (await someone.get("/")).status_code == 200


@pytest.mark.parametrize("garbage", [b"\x16\x03\x01\x02\x00", b"\r\n" * 50, b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n",
                                     b"G\x00T / HTTP/1.1\r\n\r\n", b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
                                     b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
                                     b"GET /%ff%00 HTTP/1.1\r\nHost: localhost\r\n\r\n"])  # fmt: skip
@run
async def test_garbage_is_refused(garbage, monkeypatch):
    monkeypatch.setattr(http_server, "HEADERS_S", 0.3)
    async with endless() as it:
        reader, writer = await it.connect(garbage)
        answer = await ends(reader)
        assert not answer or answer.startswith((b"HTTP/1.1 400", b"HTTP/1.1 404", b"HTTP/1.1 200"))
        writer.close()
