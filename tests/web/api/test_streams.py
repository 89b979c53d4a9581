"""Streams of events: a reader goes on where it was, and one that does not read is let go."""

import asyncio
import json
import socket
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette

from callboard import Callboard, NewJob, Publishing
from callboard.backends.log import Retention
from callboard.errors import LogReplaced
from callboard.http_server import Server
from callboard.web import streams
from callboard.web.api import follow
from callboard.web.api.routes import api_routes
from tests.web.api.served_board import Served

DEADLINE_S = 60.0


class Events:
    """Reads a stream."""

    def __init__(self, answer: httpx.Response) -> None:
        self._lines = answer.aiter_lines()

    async def next(self) -> dict[str, str]:
        """The fields of the next event, or comment."""
        found: dict[str, str] = {}
        async with asyncio.timeout(DEADLINE_S):
            while line := await anext(self._lines):
                name, _, value = line.partition(":")
                found[name] = value.strip()
        return found


@asynccontextmanager
async def reading(url: str, last: str = "", status: int = 200, **query: str) -> AsyncIterator[Events]:
    headers = {"Last-Event-ID": last} if last else {}
    async with httpx.AsyncClient() as client, client.stream("GET", url, params=query, headers=headers) as answer:
        assert answer.status_code == status, await answer.aread()
        assert status != 200 or answer.headers["content-type"].startswith("text/event-stream")
        yield Events(answer)


@asynccontextmanager
async def serving(board: Any) -> AsyncIterator[str]:
    server = Server(Starlette(routes=api_routes(board)), ("127.0.0.1", 0), streams=True)
    await server.start()
    try:
        yield f"http://127.0.0.1:{server.port}/api/v1"
    finally:
        await server.stop()


@asynccontextmanager
async def served_board(folder: Path) -> AsyncIterator[tuple[Callboard, str]]:
    written = Publishing(events=("created",))
    async with Callboard(f"sqlite:///{folder}/board.db", publishing=written) as board, serving(board) as url:
        yield board, url


def test_a_reader_of_package_events_goes_on_where_it_was(served: Served):
    async def read() -> None:
        url = f"{served.url}/events"
        async with reading(url, after="-1", kind="failed") as events:
            first, second = await events.next(), await events.next()
        assert int(first["id"]) < int(second["id"])
        event = json.loads(first["data"])
        assert (event["position"], event["subscriber"]) == (int(first["id"]), "careless")
        async with reading(url, last=first["id"], after="-1", kind="failed") as events:
            assert await events.next() == second

    asyncio.run(read())


def test_no_event_of_a_job_is_missed_or_comes_twice_when_a_reader_connects_again(tmp_path: Path):
    async def read() -> None:
        async with served_board(tmp_path) as (board, url):
            jobs = [(await board.jobs.add("a")).id for _ in range(3)]
            seen, last = [], ""
            for _ in range(6):
                async with reading(f"{url}/jobs/events", last=last, after="") as events:
                    event = await events.next()
                seen.append(json.loads(event["data"])["job"])
                last = event["id"]
                if len(seen) == 2:
                    jobs += [(await board.jobs.add("a")).id for _ in range(3)]
            assert seen == jobs

    asyncio.run(read())


def test_events_come_as_they_happen_and_comments_while_nothing_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(follow, "QUIET_S", 0.05)
    monkeypatch.setattr(follow, "REFUSED_S", 0.01)

    async def read() -> None:
        async with served_board(tmp_path) as (board, url):
            await board.jobs.add("a")
            async with reading(f"{url}/jobs/events", topic="b/*") as events:
                assert await events.next() == {"": "quiet"}
                await board.jobs.add("a")
                job = await board.jobs.add("b/c")
                while "data" not in (event := await events.next()):
                    pass
                assert json.loads(event["data"])["job"] == job.id

    asyncio.run(read())


@pytest.mark.parametrize(
    ("path", "last", "status"),
    [
        ("/events?after=x", "", 400), ("/events?kind=x", "", 400), ("/events?limit=1", "", 400),
        ("/events?after=999999", "", 404), ("/events", "999999", 404), ("/events", "x", 400),
        ("/jobs/events?after=x", "", 400), ("/jobs/events", "x", 400), ("/jobs/events?job=x", "", 400),
    ],
)  # fmt: skip
def test_a_wrong_request_is_refused_before_the_stream_begins(served: Served, path: str, last: str, status: int):
    answer = served.ask(path, headers={"Last-Event-ID": last} if last else {})
    assert (answer.status_code, answer.json()["status"]) == (status, "error")


def test_a_question_about_jobs_creates_no_topic(tmp_path: Path):
    async def read() -> None:
        async with served_board(tmp_path) as (_, url), reading(f"{url}/jobs/events", status=404):
            pass

    asyncio.run(read())


def test_events_that_were_trimmed_are_missed_with_a_word(tmp_path: Path):
    async def read() -> None:
        async with served_board(tmp_path) as (board, url):
            publisher = board.publisher("main")
            agent = await publisher.start()
            await publisher.test()
            async with reading(f"{url}/events", after="-1") as events:
                first = await events.next()
            await publisher.test()
            async with reading(f"{url}/events", last=first["id"]) as events:
                second = await events.next()
            await board.log.trim(board.settings.topics.event, Retention(below_offset=int(second["id"]) + 1))
            async with reading(f"{url}/events", status=404, after="0"):
                pass
            await agent.stop(1)

    asyncio.run(read())


def test_what_ends_the_events_is_told(caplog: pytest.LogCaptureFixture):
    class Replaced:
        async def events(self, **_: Any) -> AsyncGenerator[Any, None]:
            await asyncio.sleep(2 * follow.REFUSED_S)
            raise LogReplaced("topic 'a' was replaced")
            yield

    async def read() -> None:
        async with serving(Replaced()) as url, reading(f"{url}/events") as events:
            told = await events.next()
            assert told["event"] == "problem"
            [diagnostic] = json.loads(told["data"])["diagnostics"]
            assert diagnostic == {"code": "log_replaced", "message": "topic 'a' was replaced"}
            with pytest.raises(StopAsyncIteration):
                await events.next()

    asyncio.run(read())
    assert "request.failed" not in caplog.text


def test_a_bug_that_ends_the_events_is_logged(caplog: pytest.LogCaptureFixture):
    class Buggy:
        async def events(self, **_: Any) -> AsyncGenerator[Any, None]:
            await asyncio.sleep(2 * follow.REFUSED_S)
            raise RuntimeError("a bug")
            yield

    async def read() -> None:
        async with serving(Buggy()) as url, reading(f"{url}/events") as events:
            with pytest.raises((StopAsyncIteration, httpx.RemoteProtocolError)):
                await events.next()

    asyncio.run(read())
    assert "a bug" in caplog.text
    assert "request.failed" in caplog.text


def test_one_that_leaves_makes_room_for_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(follow, "STREAMS_MAX", 1)

    async def read() -> None:
        async with served_board(tmp_path) as (board, url):
            await board.jobs.add("a")
            async with reading(f"{url}/jobs/events", after="") as events:
                await events.next()
                async with httpx.AsyncClient() as client:
                    answer = await client.get(f"{url}/jobs/events")
                assert (answer.status_code, answer.headers["retry-after"]) == (503, "60")
                assert answer.json()["diagnostics"][0]["code"] == "busy"
            await until_answered(url, 200)

    asyncio.run(read())


def test_one_that_never_reads_is_let_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(follow, "STREAMS_MAX", 1)
    monkeypatch.setattr(streams, "SEND_S", 0.2)
    many = [NewJob(topic="a" * 200) for _ in range(20_000)]

    async def read() -> None:
        async with served_board(tmp_path) as (board, url):
            await board.jobs.add("a")
            address = httpx.URL(url)
            with socket.create_connection((address.host, address.port)) as connection:
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                connection.sendall(b"GET /api/v1/jobs/events?after= HTTP/1.1\r\nHost: a\r\n\r\n")
                await until_answered(url, 503)
                await board.jobs.add_all(many)
                await until_answered(url, 200)

    asyncio.run(read())


async def until_answered(url: str, status: int) -> None:
    """Ask for a stream until that is the answer."""
    async with asyncio.timeout(DEADLINE_S), httpx.AsyncClient() as client:
        while True:
            async with client.stream("GET", f"{url}/jobs/events") as answer:
                if answer.status_code == status:
                    return
            await asyncio.sleep(0.02)
