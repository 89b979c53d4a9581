"""What the API answers to requests that it does not answer: always the envelope, never a trace of where it failed."""

import asyncio
import json
import logging
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from starlette.applications import Starlette
from starlette.requests import Request

from callboard import Callboard
from callboard.board.envelope import Envelope, written
from callboard.cli.console.serve import below
from callboard.errors import LogUnavailable, NotAnswered, SchemaTooNew
from callboard.messages.headers import new_record
from callboard.messages.jobs.job_messages import JobsAddedMessage
from callboard.messages.topics import job_topic
from callboard.web import User
from callboard.web.api import routes
from callboard.web.api.parameters import Parameter
from callboard.web.api.reads.table import FOLLOWS, READS
from callboard.web.api.routes import api_routes
from callboard.web.app import board_app, watched
from tests.web.api.served_board import Served


def refused(answer: httpx.Response, status: int, code: str) -> str:
    """The message of the one diagnostic, which has this code."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/json"
    assert (answer.headers["cache-control"], answer.headers["x-content-type-options"]) == ("no-store", "nosniff")
    if answer.request.method == "HEAD":
        return ""
    envelope = answer.json()
    assert (envelope["version"], envelope["status"], envelope["data"]) == (1, "error", None)
    [diagnostic] = envelope["diagnostics"]
    assert diagnostic["code"] == code
    return str(diagnostic["message"])


@pytest.mark.parametrize(
    ("path", "status", "code", "said"),
    [
        ("/subscribers/godo", 404, "unknown_name", "did you mean 'good'?"),
        ("/subscribers/godo/queue", 404, "unknown_name", "did you mean 'good'?"),
        ("/publishers/mian/log", 404, "unknown_name", "did you mean 'main'?"),
        ("/schedules/nightyl/ticks", 404, "not_found", "did you mean 'nightly'?"),
        ("/jobs?queue=mians", 404, "not_found", "did you mean"),
        ("/jobs/7", 404, "not_found", "there is no job 7"),
        ("/jobs/7/history", 404, "not_found", "there is no job 7"),
        ("/log/package/999999", 404, "offset_out_of_range", "offset 999999"),
        ("/log/package?from=999999", 404, "offset_out_of_range", "offset 999999"),
        ("/nothing", 404, "not_found", "/api/v1/openapi.json"),
        ("/", 404, "not_found", "/api/v1/openapi.json"),
        ("/status/", 404, "not_found", "/api/v1/openapi.json"),
        ("/status?stat=idle", 400, "invalid", "there is no parameter 'stat'; did you mean 'state'?"),
        ("/cohorts?x=1", 400, "invalid", "there is no parameter 'x'; known here: publisher"),
        ("/folds?limit=1", 400, "invalid", "known here: none"),
        ("/openapi.json?limit=1", 400, "invalid", "there is no parameter"),
        ("/errors?limit=1&limit=1", 400, "invalid", "limit is given 2 times; 1 is the most"),
        ("/status?" + "name=a&" * 21, 400, "invalid", "name is given 21 times; 20 is the most"),
        ("/status?" + "&".join(f"a{each}=1" for each in range(200)), 400, "invalid", "cannot be read"),
        ("/errors?limit=1001", 400, "invalid", "limit is 1001, but should be a whole number from 0 to 1000"),
        ("/errors?limit=", 400, "invalid", "limit is ''"),
        ("/errors?limit=1.0", 400, "invalid", "limit is '1.0'"),
        ("/errors?limit=%D9%A3", 400, "invalid", "whole number"),
        ("/errors?limit=" + "9" * 5000, 400, "invalid", "whole number"),
        ("/errors?limit=nan", 400, "invalid", "whole number"),
        ("/errors?publisher=%00", 400, "invalid", "publisher is '\\x00'"),
        ("/errors?publisher=%ff", 400, "invalid", "the query cannot be read"),
        ("/errors?publisher=%ed%a0%80", 400, "invalid", "the query cannot be read"),
        ("/errors?publisher=%20a", 400, "invalid", "spaces at its ends"),
        ("/status?needs=yes", 400, "invalid", "needs is 'yes', but should be one of true, false"),
        ("/status?state=happy", 400, "invalid", "state is 'happy', but should be one of"),
        ("/status?sort=size", 400, "invalid", "sort is 'size', but should be one of needs, name"),
        ("/status?name=edge-*", 404, "unknown_name", "no subscriber named 'edge-*'"),
        ("/jobs?where=size=>3", 400, "invalid", "'size=>3' is no condition"),
        ("/jobs?where=size>=[1]", 400, "invalid", "give a text, a number, a date or None"),
        ("/jobs?topic=a//b", 400, "invalid", "topic is 'a//b', but should be a topic"),
        ("/jobs/one", 400, "invalid", "job is 'one'"),
        ("/log/packages", 400, "invalid", "topic is 'packages', but should be one of package"),
        ("/queue/other@1", 400, "invalid", "an entry looks like callboard.package@17"),
        ("/subscribers/good/explanation", 400, "invalid", "path is missing"),
        ("/subscribers/good/explanation?path=/a/../b", 400, "invalid", "is not normalised"),
        ("/errors?after=abc", 400, "invalid", "'abc' is no cursor"),
        ("/topology/views/999999", 400, "out_of_range", "no record is at offset 999999"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_refused_with_what_may_be_meant(served: Served, path: str, status: int, code: str, said: str):
    assert said in refused(served.ask(path), status, code)


def test_a_cursor_is_for_its_own_listing_and_is_not_forged(served: Served):
    first = served.data("/errors?limit=1")
    second = served.data(f"/errors?limit=1&after={first['cursor']}")
    assert first["items"] != second["items"]
    assert "for another listing" in refused(
        served.ask(f"/errors?publisher=main&after={first['cursor']}"), 400, "mismatch"
    )
    assert "for another listing" in refused(
        served.ask(f"/subscribers/good/queue?after={first['cursor']}"), 400, "mismatch"
    )
    forged = first["cursor"].replace(".", ".9", 3)
    assert "is no cursor" in refused(served.ask(f"/errors?after={forged}"), 400, "invalid")


@pytest.mark.parametrize("path", [*(each.path for each in (*READS, *FOLLOWS)), "/openapi.json"])
@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "TRACE", "QUERY"])
def test_other_methods_are_not_allowed(served: Served, path: str, method: str):
    answer = httpx.request(method, served.url + path)
    assert method in refused(answer, 405, "method")
    assert answer.headers["allow"] == "GET, HEAD"


@pytest.mark.parametrize("path", ["/status", "/errors?limit=x", "/nothing", "/openapi.json", "/events", "/jobs/events"])
def test_head_is_answered_as_get_without_a_body(served: Served, path: str):
    answer = httpx.head(served.url + path)
    assert answer.status_code == {"/errors?limit=x": 400, "/nothing": 404}.get(path, 200)
    assert (answer.content, answer.headers["cache-control"]) == (b"", "no-store")


@pytest.mark.parametrize(
    "line",
    [
        b"GET /api/v1/status?name=" + b"a" * (1 << 20) + b" HTTP/1.1",
        b"GET /api/v1/status?name=\xff\xfe HTTP/1.1",
        b"GET /api/v1/subscribers/\xff HTTP/1.1",
        b"GET /api/v1/subscribers/%ff HTTP/1.1",
        b"GET /api/v1/subscribers/%00/queue HTTP/1.1",
        b"GET /api/v1/subscribers/..%2f..%2fetc%2fpasswd HTTP/1.1",
        b"GET /api/v1/../../etc/passwd HTTP/1.1",
        b"GET /api/v1/status?%%%&&==;;name HTTP/1.1",
        b"GET /api/v1/errors?limit=%31%30%30%30%30 HTTP/1.1",
    ],
    ids=range(9),
)
def test_lines_that_no_client_would_send_are_the_clients_mistake(served: Served, line: bytes):
    url = httpx.URL(served.url)
    with socket.create_connection((url.host, url.port), timeout=30) as connection:
        try:
            connection.sendall(line + b"\r\nHost: a\r\nConnection: close\r\n\r\n")
            said = b"".join(iter(lambda: connection.recv(1 << 16), b""))
        except ConnectionError:
            said = b"HTTP/1.1 400 of a server that did not read on"
    assert said.startswith(b"HTTP/1.1 4"), said[:200]
    assert served.ask("/folds").status_code == 200


@asynccontextmanager
async def in_process(board: Callboard) -> AsyncIterator[httpx.AsyncClient]:
    transport = httpx.ASGITransport(Starlette(routes=api_routes(board)), raise_app_exceptions=True)
    async with httpx.AsyncClient(transport=transport, base_url="http://api/api/v1") as client:
        yield client


class Failing:
    """A board whose answers fail."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    async def folds(self) -> None:
        raise self._error


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (LogUnavailable("the server does not answer"), 503, "log_unavailable"),
        (NotAnswered("no answer within 30 s"), 503, "not_answered"),
        (SchemaTooNew("it has version 9"), 500, "schema_too_new"),
        (RuntimeError("secret.py, line 7"), 500, "bug"),
    ],
)
def test_a_failure_is_told_by_its_code_and_the_log_has_the_rest(
    error: Exception, status: int, code: str, caplog: pytest.LogCaptureFixture
):
    async def ask() -> httpx.Response:
        async with in_process(Failing(error)) as client:  # type: ignore[arg-type]
            return await client.get("/folds")

    with caplog.at_level(logging.ERROR):
        answer = asyncio.run(ask())
    message = refused(answer, status, code)
    assert "secret" not in message
    assert answer.headers.get("retry-after") == ("5" if status == 503 else None)
    assert ("request.failed" in caplog.text) == (status == 500)
    assert ("secret.py" in caplog.text) == (code == "bug")


def test_a_question_that_takes_too_long_is_given_up(monkeypatch: pytest.MonkeyPatch):
    class Slow:
        async def folds(self) -> None:
            await asyncio.Event().wait()

    async def ask() -> list[httpx.Response]:
        async with in_process(Slow()) as client:  # type: ignore[arg-type]
            return await asyncio.gather(*(client.get("/folds") for _ in range(routes.READS_MAX + 3)))

    monkeypatch.setattr(routes, "ANSWER_S", 0.05)
    for answer in asyncio.run(ask()):
        assert "no answer within 0.05 s" in refused(answer, 503, "not_answered")
        assert answer.headers["retry-after"]


def test_payloads_of_others_never_break_the_json(tmp_path: Path):
    payloads = [b"NaN", b'{"a": 1e999, "b": -1e999}', b'"\\ud800"', b"\xff\0", b"[" * 900 + b"]" * 900,
                b"[" * 100_000, b"9" * 6000, b'{"a": ' * 150 + b"1" + b"}" * 150]  # fmt: skip

    async def ask() -> list[Any]:
        async with Callboard(f"sqlite:///{tmp_path}/board.db") as board, in_process(board) as client:
            await board.jobs.add("first")
            message = JobsAddedMessage(topics=("a",), topic_of=(0,) * len(payloads), payloads=tuple(payloads),
                                       request="r", creator="stranger")  # fmt: skip
            record = new_record(message, record_id="r", time_ns=1, producer="stranger", key="r")
            await board.log.append(job_topic(board.settings.prefix), [record])
            jobs = (await client.get("/jobs?topic=a")).json()["data"]["items"]
            answers = [await client.get(f"/jobs/{job['id']}") for job in jobs]
        return [answer.json()["data"] and answer.json()["data"]["payload"] for answer in answers]

    nan, infinite, lone, binary, deep, deeper, long, nested = asyncio.run(ask())
    assert (nan, infinite, lone, binary) == (None, {"a": None, "b": None}, "\ud800", {"base64": "/wA="})
    assert (deep is None) or isinstance(deep, list)
    assert "base64" in deeper
    assert "base64" in long
    assert "a" in nested


def test_what_is_not_finite_is_null_on_the_command_line_and_in_the_api():
    found = written(Envelope(data={"a": float("nan"), "b": [float("inf")]}))
    assert json.loads(found)["data"] == {"a": None, "b": [None]}


def texts(parameter: Parameter) -> st.SearchStrategy[str]:
    words = ["", "0", "-1", "1", "true", "good", "main", "/", "**", "a/*", "size>=3", "open", "\0", "9" * 30, "%"]
    return st.sampled_from([*words, *parameter.schema.get("enum", ())]) | st.text(max_size=50)


@st.composite
def requests(draw: st.DrawFn) -> str:
    """A request with parameters that the operation has, some that it has not, and any text for each."""
    read = draw(st.sampled_from(READS))
    path = read.path
    for each in read.parameters:
        if f"{{{each.name}}}" in path:
            value = draw(texts(each).filter(lambda text: text not in ("", ".", "..") and "/" not in text))
            path = path.replace(f"{{{each.name}}}", _quoted(value))
    rest = [each for each in read.parameters if f"{{{each.name}}}" not in read.path]
    pairs = draw(st.lists(st.sampled_from(rest), max_size=4)) if rest else []
    query = "&".join(f"{each.name}={_quoted(draw(texts(each)))}" for each in pairs)
    stray = draw(st.sampled_from(["", "", "", "&limit", "&=", "&a=1", "&%ff=1", "&limit=%ff"]))
    return f"{path}?{query}{stray}"


def _quoted(text: str) -> str:
    return "".join(f"%{byte:02x}" for byte in text.encode())


def test_no_query_leads_to_a_server_error(tmp_path: Path):
    async def ask(paths: list[str]) -> None:
        async with Callboard(f"sqlite:///{tmp_path}/board.db") as board, in_process(board) as client:
            await board.jobs.add("a/b", {"size": 3})
            for path in paths:
                answer = await client.get(path)
                assert answer.status_code in (200, 400, 404), f"{path}: {answer.text}"
                assert answer.json()["status"] in ("ok", "attention", "error"), path

    found = list[str]()

    @settings(max_examples=400, database=None, derandomize=True, deadline=None,
              suppress_health_check=list(HealthCheck))  # fmt: skip
    @given(requests())
    def gather(path: str) -> None:
        found.append(path)

    gather()
    asyncio.run(ask(found))


def test_only_those_who_are_signed_in_are_answered_also_below_another_path():
    def user_of(request: Request) -> User | None:
        return User("vera", "viewer") if "vera" in request.headers else None

    async def ask() -> list[httpx.Response]:
        async with Callboard("memory:") as board, watched(board):
            transport = httpx.ASGITransport(below("/board", board_app(board, access=user_of)))
            async with httpx.AsyncClient(transport=transport, base_url="http://localhost/board/api/v1") as client:
                paths = ("/status", "/openapi.json", "/events", "/nothing")
                return [
                    *[await client.get(path) for path in paths],
                    *[await client.get(path, headers={"vera": "1"}) for path in ("/status", "/openapi.json")],
                ]

    *strangers, status, document = asyncio.run(ask())
    for answer in strangers:
        assert "sign in" in refused(answer, 401, "unauthorized")
    assert (status.status_code, status.json()["data"]["subscribers"]) == (200, [])
    assert document.json()["servers"] == [{"url": "."}]
