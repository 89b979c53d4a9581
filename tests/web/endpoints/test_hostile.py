"""What clients that are broken, slow or malicious can do to the endpoints: nothing to others."""

import asyncio
import socket
from contextlib import suppress
from pathlib import Path

import httpx
import pytest

from callboard import Callboard
from callboard.http_server import CONNECTIONS_MAX
from tests.web.endpoints.served import HOST, play, port_of, served, until

MALFORMED = {
    "not HTTP": b"\x16\x03\x01" * 99,
    "no path": b"GET\r\n\r\n",
    "bytes as a method": b"\xff\xfe / HTTP/1.1\r\n\r\n",
    "no colon in a header": b"GET /livez HTTP/1.1\r\nhost\r\n\r\n",
    "two lengths": b"GET /livez HTTP/1.1\r\nhost: a\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n",
    "an address of a megabyte": b"GET /" + b"a" * (1 << 20) + b" HTTP/1.1\r\nhost: a\r\n\r\n",
    "a megabyte of headers": b"GET /livez HTTP/1.1\r\n" + b"x: y\r\n" * 170_000 + b"\r\n",
}


@pytest.mark.parametrize("sent", [pytest.param(sent, id=what) for what, sent in MALFORMED.items()])
def test_what_is_not_a_request_is_refused_and_others_are_answered(sent: bytes, tmp_path: Path) -> None:
    async def scenario(board: Callboard) -> None:
        async with served(board) as client:
            reader, writer = await asyncio.open_connection(HOST, port_of(client))
            with suppress(ConnectionError):  # it need not have been read to its end
                writer.write(sent)
                assert (await reader.read()).startswith((b"HTTP/1.1 400 ", b""))
            writer.close()
            assert (await client.get("/livez")).status_code == 200

    play(scenario, tmp_path)


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [("HEAD", "/livez", 200), ("HEAD", "/metrics", 200), ("POST", "/metrics", 405), ("PUT", "/livez", 405),
     ("DELETE", "/readyz", 405), ("OPTIONS", "/healthz", 405), ("GET", "/", 404), ("GET", "/livez/", 404),
     ("GET", "/%2e%2e/livez", 404), ("GET", "/livez%00", 404), ("GET", "//livez", 404), ("GET", "/LIVEZ", 404),
     ("GET", "/livez?" + "a" * 8000, 200)],
)  # fmt: skip
def test_only_what_is_there_can_be_read(method: str, path: str, status: int, tmp_path: Path) -> None:
    async def scenario(board: Callboard) -> None:
        async with served(board) as client:
            url = httpx.URL(str(client.base_url), raw_path=path.encode())
            answer = await client.request(method, url, content=b"x" if method == "POST" else b"")
            assert answer.status_code == status
            assert (answer.content == b"") == (method == "HEAD")

    play(scenario, tmp_path)


@pytest.mark.parametrize("sent", [b"", b"GET /livez HTTP/1.1\r\n", b"GET /livez HTTP/1.1\r\nhost: b\r\n\r\nGET"])
def test_a_client_that_sends_its_request_slowly_is_disconnected(
    sent: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("callboard.http_server.HEADERS_S", 0.2)

    async def scenario(board: Callboard) -> None:
        async with served(board) as client:
            reader, writer = await asyncio.open_connection(HOST, port_of(client))
            writer.write(sent)
            answer = asyncio.create_task(reader.read())

            async def is_ended() -> bool:
                writer.write(sent[:1])
                return answer.done()

            await until(is_ended)
            answer.exception()  # it may have been reset
            writer.close()

    play(scenario, tmp_path)


def test_connections_that_are_idle_are_ended_and_then_others_are_answered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("callboard.http_server.HEADERS_S", 1.0)

    async def scenario(board: Callboard) -> None:
        async with served(board) as client:
            idle = [await asyncio.open_connection(HOST, port_of(client)) for _ in range(CONNECTIONS_MAX + 50)]

            async def answered() -> bool:
                async with httpx.AsyncClient(base_url=client.base_url, trust_env=False) as another:
                    return (await another.get("/livez")).status_code == 200

            await until(answered)
            for reader, writer in idle:
                with suppress(ConnectionError):
                    assert await reader.read() == b""
                writer.close()

    play(scenario, tmp_path)


def test_a_client_that_does_not_read_its_metrics_is_disconnected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("callboard.http_server.HEADERS_S", 0.2)

    async def figures_of_a_large_fleet(_: float) -> str:
        return "x" * (64 << 20)  # more than the buffers of a connection take

    async def scenario(board: Callboard) -> None:
        monkeypatch.setattr(board, "metrics", figures_of_a_large_fleet)
        async with served(board) as client:
            taken = socket.socket()
            taken.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
            taken.setblocking(False)
            await asyncio.get_running_loop().sock_connect(taken, (HOST, port_of(client)))
            reader, writer = await asyncio.open_connection(sock=taken, limit=1)
            writer.write(b"GET /metrics HTTP/1.1\r\nhost: a\r\n\r\n")

            async def is_ended() -> bool:
                if not writer.is_closing():
                    writer.write(b"GET")
                return reader.exception() is not None or writer.is_closing()

            await until(is_ended)
            writer.close()

    play(scenario, tmp_path)
