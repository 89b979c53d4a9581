"""A service mounts the console: with its own sign-in, its own middleware, below its own paths."""

import asyncio
import contextlib

import httpx
import pytest
from fastapi import FastAPI, Request
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.sessions import SessionMiddleware
from starlette.responses import JSONResponse
from starlette.routing import Mount, Route

from callboard import Callboard
from callboard.errors import ConfigError
from callboard.web import Access, User, board_app, board_lifespan
from callboard.web.console.watch import WATCHES
from callboard.web.signin import guard
from tests.web.signin.consoles import browser, diagnostic, problem, run, serving, users_file


def own_sign_in(request: Request) -> User | None:
    name = request.headers.get("x-name")
    return User(name, "operator" if name == "ann" else "viewer") if name else None


@contextlib.asynccontextmanager
async def running(app: FastAPI | Starlette):
    """A browser at the service, which runs with its lifespan."""
    async with app.router.lifespan_context(app), serving(app) as url, browser(url) as someone:
        yield someone


@run
async def test_a_service_mounts_the_console_below_its_own_paths_and_its_board_is_open_while_it_runs():
    board = Callboard("memory:")
    app = FastAPI(lifespan=board_lifespan(board))
    app.mount("/ops/callboard", board_app(board, access=own_sign_in))

    @app.get("/own")
    async def own(request: Request) -> dict[str, object]:
        return {"publishers": len((await board.status()).publishers), "user": hasattr(request.state, "user")}

    async with running(app) as ann:
        ann.headers["x-name"] = "ann"
        page = await ann.get("/ops/callboard/")
        assert "ann (operator)" in page.text
        assert 'data-live="/ops/callboard/live/"' in page.text
        assert (await ann.get("/ops/callboard/static/console.js")).status_code == 200
        async with ann.stream("GET", "/ops/callboard/live/") as stream:
            assert "event: page" in await anext(stream.aiter_text())
        assert (await ann.get("/own")).json() == {"publishers": 0, "user": False}
        assert "content-security-policy" not in (await ann.get("/own")).headers
        nobody = await ann.get("/ops/callboard/live/", headers={"x-name": ""})
        assert (nobody.status_code, diagnostic(nobody)["code"]) == (401, "unauthorized")
        page = await ann.get("/ops/callboard/", headers={"x-name": ""})
        assert "this service does not know you" in problem(page)
        assert (await ann.post("/ops/callboard/", headers={"x-name": "bob"})).status_code == 403
        assert [watch for watch in WATCHES if watch.board is board and not watch._task.done()]
    assert not [watch for watch in WATCHES if watch.board is board and not watch._task.done()]
    with pytest.raises(ConfigError, match="not open"):
        await board.status()


@run
async def test_without_more_words_only_this_host_sees_it():
    board = Callboard("memory:")
    app = Starlette(routes=[Mount("/board", board_app(board))], lifespan=board_lifespan(board))
    async with running(app) as someone:
        assert (await someone.get("/board/")).status_code == 200
        assert (await someone.get("/board/", headers={"Host": "service.example"})).status_code == 403


@run
async def test_users_of_a_file_sign_in_beside_the_sessions_and_the_middleware_of_the_service(tmp_path):
    async def count(request: Request) -> JSONResponse:
        request.session["count"] = request.session.get("count", 0) + 1
        request.state.user = "the service's own"
        return JSONResponse({"count": request.session["count"]})

    board, seen = Callboard("memory:"), []

    class Outer:
        def __init__(self, app):
            self.app = app

        async def __call__(self, scope, receive, send):
            if scope["type"] == "http":
                scope.setdefault("state", {})["user"] = "the service's own"
            await self.app(scope, receive, send)
            if scope["type"] == "http":
                seen.append(scope["state"]["user"])

    app = Starlette(
        routes=[Route("/count", count), Mount("/board", board_app(board, access=Access(users=users_file(tmp_path))))],
        middleware=[Middleware(Outer), Middleware(SessionMiddleware, secret_key="x")],
        lifespan=board_lifespan(board),
    )
    async with running(app) as ann, httpx.AsyncClient(base_url=ann.base_url.join("/board"), trust_env=False) as inside:
        assert (await ann.get("/count")).json() == {"count": 1}
        inside.cookies = ann.cookies
        data = {"name": "ann", "password": "ann12345", "next": "/"}
        assert (await inside.post("/sign-in", data=data)).headers["location"] == "/board/"
        assert "ann (operator)" in (await inside.get("/")).text
        assert (await inside.post("/sign-out")).headers["location"] == "/board/sign-in"
        assert (await ann.get("/count")).json() == {"count": 2}
    assert {*seen} == {"the service's own"}


@run
async def test_the_service_may_take_its_time_and_may_change_its_mind(monkeypatch):
    monkeypatch.setattr(guard, "STREAM_S", 0.0)
    board, known = Callboard("memory:"), {"ann"}

    async def decide(request: Request) -> User | None:
        await asyncio.sleep(0)
        return User("ann", "viewer") if "ann" in known else None

    app = Starlette(routes=[Mount("/board", board_app(board, access=decide))], lifespan=board_lifespan(board))
    async with running(app) as ann, ann.stream("GET", "/board/live/") as stream:
        pieces = stream.aiter_text()
        assert "event: page" in await anext(pieces)
        known.clear()
        async for _ in pieces:
            pass


@pytest.mark.parametrize("answer", ["ann", True, ("ann", "operator"), {"name": "ann"}, User("", "operator")])
@run
async def test_a_service_that_answers_something_else_lets_nobody_in(answer, caplog):
    board = Callboard("memory:")
    app = Starlette(routes=[Mount("/board", board_app(board, access=lambda _: answer))], lifespan=board_lifespan(board))
    async with running(app) as someone:
        page = await someone.get("/board/")
        assert (page.status_code, "a bug" in problem(page)) == (500, True)
        assert "nosniff" in page.headers["x-content-type-options"]
    assert "let it return a User with a name, or None" in caplog.text


@pytest.mark.parametrize(
    ("options", "why"),
    [({"board": "x"}, "board is 'x', but should be a Callboard"), ({"board": None}, "a Callboard"),
     ({"access": Access}, "an Access, or a function"),
     ({"allow_actions": "no"}, "True or False"), ({"access": "loopback"}, "an Access, or a function"),
     ({"access": None}, "an Access, or a function"), ({"access": {"users": "x"}}, "an Access, or a function")],
)  # fmt: skip
def test_arguments_of_another_kind_are_refused(options, why):
    with pytest.raises(ConfigError, match=why):
        board_app(**{"board": Callboard("memory:")} | options)
    with pytest.raises(ConfigError, match="a Callboard"):
        board_lifespan("memory:")


@run
async def test_a_websocket_is_refused():
    board, sent = Callboard("memory:"), []
    app = board_app(board)

    async def send(message: dict[str, object]) -> None:
        sent.append(message["type"])

    await app({"type": "websocket", "path": "/live/", "headers": []}, None, send)
    assert sent == ["websocket.close"]


@pytest.mark.parametrize(
    ("name", "role", "why"),
    [(None, "viewer", "name is None"), ("a\nb", "viewer", "name is"), ("\udc80", "viewer", "name is"),
     ("x" * 201, "viewer", "name is"), ("ann", "admin", "role is 'admin', but should be one of viewer, operator"),
     ("ann", None, "role is None")],
)  # fmt: skip
def test_a_user_that_cannot_be_is_refused(name, role, why):
    with pytest.raises(ConfigError, match=why):
        User(name, role)
