"""A console that answers on a port of this host, and those who ask it."""

import asyncio
import re
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import cache, wraps
from pathlib import Path
from typing import Any

import httpx
from argon2 import PasswordHasher
from starlette.types import ASGIApp

from callboard import Callboard
from callboard.cli.console.serve import below
from callboard.http_server import Server
from callboard.web.app import board_app, watched

DEADLINE_S = 30.0
JSON_401 = {"code": "unauthorized", "message": "you are not signed in, or no longer; sign in"}


def run(test: Callable[..., Any]) -> Callable[..., None]:
    """Have the coroutine of a test run in an event loop of its own, within the deadline."""

    @wraps(test)
    def ran(*args: Any, **given: Any) -> None:
        asyncio.run(asyncio.wait_for(test(*args, **given), DEADLINE_S))

    return ran


@asynccontextmanager
async def serving(app: ASGIApp, context: ssl.SSLContext | None = None) -> AsyncIterator[str]:
    """The URL of the application."""
    server = Server(app, ("127.0.0.1", 0), context, streams=True)
    await server.start()
    try:
        yield f"{'https' if context else 'http'}://127.0.0.1:{server.port}"
    finally:
        await server.stop()


@asynccontextmanager
async def console(
    *, root_path: str = "", context: ssl.SSLContext | None = None, **options: Any
) -> AsyncIterator[httpx.AsyncClient]:
    """Somebody with a browser who has not signed in, at the console of a board."""
    async with (
        Callboard("memory:") as board,
        watched(board),
        serving(below(root_path, board_app(board, **options)), context) as url,
        browser(url) as someone,
    ):
        yield someone


def browser(url: str, **options: Any) -> httpx.AsyncClient:
    return httpx.AsyncClient(base_url=url, timeout=DEADLINE_S, trust_env=False, **options)


def users_file(folder: Path, *lines: str, mode: int = 0o600) -> str:
    """Ann may act, Bob look; both have the password that is their name and 12345."""
    path = folder / "users"
    path.write_text("\n".join(lines or (line("ann", "operator"), line("bob", "viewer"))))
    path.chmod(mode)
    return str(path)


def line(name: str, role: str, password: str = "") -> str:
    return f"{name}:{role}:{digest(password or f'{name}12345')}"


@cache
def digest(password: str) -> str:
    return PasswordHasher(time_cost=1, memory_cost=64, parallelism=1).hash(password)


async def sign_in(client: httpx.AsyncClient, name: str = "ann", password: str = "", **fields: str) -> httpx.Response:
    data = {"name": name, "password": password or f"{name}12345"} | fields
    return await client.post("/sign-in", data=data, headers={"Origin": str(client.base_url).rstrip("/")})


def problem(answer: httpx.Response) -> str:
    """What a page says is wrong."""
    found = re.search(r'role="alert">(.*?)</p>', answer.text, re.DOTALL)
    return found[1] if found else ""


def diagnostic(answer: httpx.Response) -> dict[str, str]:
    """What a program is told."""
    told = answer.json()
    assert (told["version"], told["status"], told["data"]) == (1, "error", None)
    (only,) = told["diagnostics"]
    return only
