"""A console on a port, with the headers that a browser gets, and what its pages say in words."""

import asyncio
import html
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import wraps
from typing import Any

import httpx
from starlette.applications import Starlette
from starlette.routing import Mount
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from callboard import Callboard
from callboard.http_server import Server
from callboard.web import User
from callboard.web.console.routes import console_routes
from callboard.web.console.watch import Watch
from callboard.web.signin.headers import POLICY

OPERATOR = User("olga", "operator")
READ_S = 0.05
DEADLINE_S = 30.0


def run(test: Callable[..., Any]) -> Callable[..., None]:
    """Have the coroutine of a test run in an event loop of its own."""

    @wraps(test)
    def ran(*args: Any, **given: Any) -> None:
        asyncio.run(test(*args, **given))

    return ran


def guarded(app: ASGIApp, user: User | None) -> ASGIApp:
    """The application behind a door that sets the policy for content, and knows the user."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], (b"content-security-policy", POLICY.encode())]
            await send(message)

        if user:
            scope.setdefault("state", {})["user"] = user
        await app(scope, receive, sending)

    return answer


@asynccontextmanager
async def served(board: Callboard, user: User | None = None, at: str = "") -> AsyncIterator[str]:
    """The address of a console of this board, mounted ``at`` a path; with an operator, it allows actions."""
    watch = Watch(board, read_s=READ_S, idle_s=READ_S)
    app = Starlette(routes=console_routes(board, watch, allow_actions=user is not None))
    app = Starlette(routes=[Mount(at, app)]) if at else app
    server = Server(guarded(app, user), ("127.0.0.1", 0), streams=True)
    await server.start()
    try:
        yield f"http://127.0.0.1:{server.port}"
    finally:
        await server.stop()
        await watch.stop()


class Reader:
    """Somebody who reads pages."""

    def __init__(self, client: httpx.AsyncClient) -> None:
        self.client = client

    async def page(self, path: str, status: int = 200) -> str:
        """The page as HTML."""
        answer = await self.client.get(path)
        assert answer.status_code == status, f"{path}: {answer.status_code} {answer.text[:500]}"
        return answer.text

    async def words(self, path: str, status: int = 200) -> str:
        """What the page says below its header."""
        return words(re.split("<main[^>]*>", await self.page(path, status), maxsplit=1)[1])

    async def until(self, path: str, *wanted: str, without: str = "\0") -> str:
        """What the page says, once it says all of this, and not that."""
        async with asyncio.timeout(DEADLINE_S):
            while True:
                found = words((await self.client.get(path)).text)
                if all(each in found for each in wanted) and without not in found:
                    return found
                await asyncio.sleep(READ_S)


@asynccontextmanager
async def reader(board: Callboard, user: User | None = None, at: str = "") -> AsyncIterator[Reader]:
    """Somebody who reads the console of this board."""
    async with served(board, user, at) as address, httpx.AsyncClient(base_url=address, timeout=DEADLINE_S) as client:
        yield Reader(client)


def words(page: str) -> str:
    """The text of HTML, on one line."""
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", page)).split())
