"""The processes of the demo: one publisher, and subscribers of every sort and speed."""

import asyncio
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from callboard.cli.demo.child import Child
from callboard.cli.demo.edits import Request
from callboard.errors import AgentFailed, RequestRefused

IN_FLIGHT = 8
"""Requests that are written ahead of their answers."""


class Fleet:
    """Starts the publisher and the subscribers, each in a process of its own whose actors are processes again."""

    def __init__(self, folder: Path, source: Path) -> None:
        self._folder = folder
        self._source = source
        self.subscribers: dict[str, Child] = {}
        self.publisher = self._child("publisher", ["run", "publisher", "demo", "--requests", "-"], talks=True)

    def _child(self, name: str, arguments: list[str], *, nice: int = 0, talks: bool = False) -> Child:
        command = [*arguments, "--config", str(self._folder / "callboard.toml")]
        return Child(name, command, self._folder / f"{name}.log", nice=nice, talks=talks)

    def add(self, name: str, *, sqlite: bool, nice: int) -> Child:
        """Start one more subscriber."""
        into = f"sqlite:{self._folder / name}.sqlite" if sqlite else str(self._folder / name)
        child = self._child(name, ["run", "subscriber", name, "--into", into, "--editable"], nice=nice)
        self.subscribers[name] = child
        child.start()
        return child

    async def publish(self, requests: Iterable[Request]) -> None:
        """Have the publisher ship these, in order; returns when all are on the log."""
        waiting = 0
        for request in requests:
            if waiting == IN_FLIGHT:
                await self._answer()
                waiting -= 1
            body = {
                "kind": request.kind,
                "paths": request.paths,
                "deep": request.deep,
                "source": str(self._source),
            }
            await asyncio.to_thread(self._write, body)
            waiting += 1
        for _ in range(waiting):
            await self._answer()

    def _write(self, body: dict[str, Any]) -> None:
        self.publisher.stdin.write(json.dumps(body).encode() + b"\n")
        self.publisher.stdin.flush()

    async def _answer(self) -> None:
        text = await asyncio.to_thread(self.publisher.stdout.readline)
        if not text:
            raise AgentFailed(f"the publisher ended:\n{self.publisher.last_words()}")
        answer = json.loads(text)
        if not answer.get("accepted"):
            raise RequestRefused(f"the publisher refused: {answer.get('reason')}")

    def check_alive(self) -> None:
        """Raise ``AgentFailed`` with the last words of a process that ended by itself."""
        for child in (self.publisher, *self.subscribers.values()):
            if not child.alive:
                raise AgentFailed(f"{child.name} ended:\n{child.last_words()}")

    def stop(self) -> None:
        """End everything, and wait until it has."""
        children = [self.publisher, *self.subscribers.values()]
        for child in children:
            child.stop()
        for child in children:
            child.wait()
