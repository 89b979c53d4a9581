"""Operators and viewers at the same console, who open forms and send them."""

import asyncio
import html
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from starlette.applications import Starlette
from starlette.types import ASGIApp, Receive, Scope, Send

from callboard import Callboard
from callboard.board.read.log.log_records import opened
from callboard.board.views import SubscriberStatus
from callboard.http_server import Server
from callboard.messages.distribution.topic_messages import CommandMessage
from callboard.messages.record import Record
from callboard.web import Role, User
from callboard.web.console.routes import console_routes
from callboard.web.console.watch import Watch

ROLES: Mapping[str, Role] = {"ada": "operator", "ben": "operator", "vic": "viewer"}
READ_S = 0.05
DEADLINE_S = 30.0


@dataclass(frozen=True, slots=True)
class Answer:
    """What the console answered: its status, and the words in it."""

    status: int
    words: str
    html: str

    @property
    def fields(self) -> dict[str, str]:
        """Those of its form that are filled in."""
        found = re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)">', self.html)
        return {name: html.unescape(value) for name, value in found}


class Person:
    """Somebody who is signed in."""

    def __init__(self, client: httpx.AsyncClient, name: str) -> None:
        self.client = client
        self._headers = {"x-user": name}

    async def get(self, path: str, *, dialog: bool = True, **query: Any) -> Answer:
        headers = self._headers | ({"hx-request": "true"} if dialog else {})
        return answered(await self.client.get(path, params=query, headers=headers))

    async def form(self, action: str, **target: Any) -> Answer:
        return await self.get(f"/actions/{action}", **target)

    async def send(self, action: str, fields: Mapping[str, Any], *, dialog: bool = True, **more: Any) -> Answer:
        """Send a form with these fields."""
        headers = self._headers | ({"hx-request": "true"} if dialog else {})
        return answered(await self.client.post(f"/actions/{action}", data={**fields, **more}, headers=headers))

    async def act(self, action: str, reason: str = "as agreed", given: Mapping[str, Any] = {}, **target: Any) -> Answer:
        """Open the form, give the reason, and send it."""
        form = await self.form(action, **target)
        assert form.status == 200, form.words
        return await self.send(action, form.fields, reason=reason, **given)


def answered(answer: httpx.Response) -> Answer:
    text = re.sub(r"<[^>]*>", " ", answer.text)
    return Answer(answer.status_code, " ".join(html.unescape(text).split()), answer.text)


def by_name(app: ASGIApp) -> ASGIApp:
    """The application, which knows its users by a header."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        name = dict(scope["headers"]).get(b"x-user", b"").decode()
        if name in ROLES:
            scope.setdefault("state", {})["user"] = User(name, ROLES[name])
        await app(scope, receive, send)

    return answer


class Console:
    """A console at ``url``, and those who look at it."""

    def __init__(self, client: httpx.AsyncClient, board: Callboard, url: str) -> None:
        self.board, self.url, self._client = board, url, client
        self.ada, self.ben, self.vic, self.nobody = (Person(client, name) for name in (*ROLES, ""))

    async def commands(self) -> list[tuple[str, str, str]]:
        """The commands on the log: to whom, by whom, and why."""
        found = map(opened, await records(self.board))
        return [(its.subscriber, its.author, its.reason) for its in found if isinstance(its, CommandMessage)]


async def records(board: Callboard) -> list[Record]:
    """Those on the topic of commands."""
    topic = board.settings.topics.command
    return await board.log.read(topic, (await board.log.bounds(topic)).first, 100)


@asynccontextmanager
async def console(board: Callboard, *, allow_actions: bool = True) -> AsyncIterator[Console]:
    """A console of an open board."""
    watch = Watch(board, read_s=READ_S, idle_s=READ_S)
    app = Starlette(routes=console_routes(board, watch, allow_actions=allow_actions))
    server = Server(by_name(app), ("127.0.0.1", 0), streams=True)
    await server.start()
    url = f"http://127.0.0.1:{server.port}"
    try:
        async with httpx.AsyncClient(base_url=url, timeout=DEADLINE_S) as client:
            yield Console(client, board, url)
    finally:
        await server.stop()
        await watch.stop()


@asynccontextmanager
async def fleet(folder: Path, **options: Any) -> AsyncIterator[Callboard]:
    """A board with two subscribers that have everything: ``berlin``, which is editable, and ``paris``."""
    (folder / "site").mkdir()
    (folder / "site" / "index.html").write_text("home")
    async with (
        Callboard(f"sqlite:///{folder / 'board.db'}", **options) as board,
        board.subscriber("berlin", folder / "berlin", editable=True) as berlin,
        board.subscriber("paris", folder / "paris") as paris,
    ):
        await board.publisher("main").publish(folder / "site")
        for each in (berlin, paris):
            await each.caught_up(DEADLINE_S)
        yield board


async def until(board: Callboard, name: str, wanted: str) -> SubscriberStatus:
    """The subscriber, once it says that it is in this state; when it is idle, with an empty queue."""
    async with asyncio.timeout(DEADLINE_S):
        while True:
            [row] = [each for each in (await board.status()).subscribers if each.name == name]
            if row.state == wanted and (wanted != "idle" or not row.lag_packages):
                return row
            await asyncio.sleep(READ_S)
