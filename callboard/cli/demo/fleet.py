"""The processes of the demo: one publisher, and subscribers of different kinds and speeds."""

import asyncio
import json
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from callboard.cli.demo.child import Child
from callboard.cli.demo.edits import Request
from callboard.errors import AgentFailed, NotAnswered, RequestRefused

IN_FLIGHT = 8
"""Requests written before their answers arrive."""
POLL_S = 0.1


class Fleet:
    """Starts the publisher and the subscribers, each in its own process, with a process for each actor.

    ``temporary`` is for what they keep while they run: a process that is killed leaves it.
    """

    def __init__(self, folder: Path, source: Path, temporary: Path) -> None:
        self._folder, self._temporary = folder, temporary
        self._source = source
        self.subscribers: dict[str, Child] = {}
        self._standbys: dict[str, Child] = {}
        self._publishing = asyncio.Lock()
        self.publisher = self._child("publisher", ["run", "publisher", "demo", "--requests", "-"], talks=True)

    def _child(self, name: str, arguments: list[str], *, nice: int = 0, talks: bool = False) -> Child:
        command = [*arguments, "--config", str(self._folder / "callboard.toml")]
        log = self._folder / f"{name}.log"
        return Child(name, command, log, nice=nice, talks=talks, temporary=self._temporary)

    def add(self, name: str, *, sqlite: bool, nice: int) -> Child:
        """Start one more subscriber."""
        child = self.subscribers[name] = self._subscriber(name, sqlite=sqlite, nice=nice)
        child.start()
        return child

    def stand_by(self, name: str) -> Child:
        """Start another subscriber for the same folder, which waits until the first is gone."""
        child = self._standbys[name] = self._subscriber(name, "--standby", sqlite=False, nice=0)
        child.start()
        return child

    def kill_for_good(self, name: str) -> None:
        """Send SIGKILL to a subscriber that has a standby, and do not restart it."""
        child = self.subscribers[name]
        self.subscribers[name] = self._standbys.pop(name)
        child.kill()

    def _subscriber(self, name: str, *flags: str, sqlite: bool, nice: int) -> Child:
        into = f"sqlite:{self._folder / name}.sqlite" if sqlite else str(self._folder / name)
        arguments = ["run", "subscriber", name, "--into", into, "--editable", *flags]
        return self._child("-".join((name, *(flag.strip("-") for flag in flags))), arguments, nice=nice)

    async def publish(self, requests: Iterable[Request]) -> list[int]:
        """Have the publisher ship these, in order; returns their offsets once all are on the log."""
        offsets: list[int] = []
        waiting = 0
        async with self._publishing:
            for request in requests:
                if waiting == IN_FLIGHT:
                    offsets.append(await self._answer())
                    waiting -= 1
                body = {
                    "kind": request.kind,
                    "paths": request.paths,
                    "deep": request.deep,
                    "full": True,
                    "source": str(self._source),
                    "metadata": dict(request.metadata),
                }
                await asyncio.to_thread(self._write, body)
                waiting += 1
            offsets += [await self._answer() for _ in range(waiting)]
        return offsets

    def _write(self, body: dict[str, Any]) -> None:
        self.publisher.stdin.write(json.dumps(body).encode() + b"\n")
        self.publisher.stdin.flush()

    async def _answer(self) -> int:
        text = await asyncio.to_thread(self.publisher.stdout.readline)
        if not text:
            raise AgentFailed(f"the publisher ended:\n{self.publisher.last_words()}")
        answer = json.loads(text)
        if not answer.get("accepted"):
            raise RequestRefused(f"the publisher refused: {answer.get('reason')}")
        return int(answer["offset"])

    async def until(self, condition: Callable[[], bool], seconds: float, what: str) -> None:
        """Wait for the condition. Raises ``AgentFailed`` as ``check_alive``, and ``NotAnswered`` after ``seconds``."""
        deadline = time.monotonic() + seconds
        while not condition():
            self.check_alive()
            if time.monotonic() > deadline:
                raise NotAnswered(f"waited {seconds:.0f} s for {what}, in vain; see the logs in {self._folder}")
            await asyncio.sleep(POLL_S)

    def check_alive(self) -> None:
        """Raise ``AgentFailed`` with the last log lines of a process that ended by itself."""
        for child in self._children():
            if not child.alive:
                raise AgentFailed(f"{child.name} ended:\n{child.last_words()}")

    def stop(self) -> None:
        """Stop all processes, and wait until they have ended."""
        for child in self._children():
            child.stop()
        for child in self._children():
            child.wait()

    def _children(self) -> list[Child]:
        return [self.publisher, *self.subscribers.values(), *self._standbys.values()]
