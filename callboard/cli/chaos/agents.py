"""The processes of a run: one publisher and its subscribers, restarted whenever they end."""

import asyncio
import json
from itertools import count
from pathlib import Path
from random import Random

from callboard.cli.demo.child import Child
from callboard.cli.demo.edits import Edits, Request
from callboard.errors import NotAnswered

PUBLISHER = "site"
POLL_S = 0.1
RESTART_S = 0.5
"""Delay before a restart, as a service manager would have."""
PACE_S = 0.15
"""Pause between two edits."""


class Agents:
    """The services of a run, restarted when they end, as by a service manager."""

    def __init__(self, folder: Path, names: list[str]) -> None:
        self._folder = folder
        self.subscribers = {name: self._subscriber(index, name) for index, name in enumerate(names)}
        self.publisher = self._child(PUBLISHER, ["run", "publisher", PUBLISHER, "--requests", "-"], talks=True)
        self.ended = 0
        """The number of processes that ended by themselves."""
        self._meant: set[str] = set()

    @property
    def all(self) -> dict[str, Child]:
        """All processes by name."""
        return {PUBLISHER: self.publisher, **self.subscribers}

    def into(self, name: str) -> str:
        """The repository of a subscriber: every other one is a SQLite file."""
        index = list(self.subscribers).index(name) if name in self.subscribers else 0
        return self._into(index, name)

    def start(self) -> None:
        """Start all processes."""
        for child in self.all.values():
            child.start()

    async def keep_running(self) -> None:
        """Restart processes that have ended, until cancelled."""
        while True:
            for name, child in self.all.items():
                if not child.alive:
                    self.ended += name not in self._meant
                    self._meant.discard(name)
                    child.start()
            await asyncio.sleep(RESTART_S)

    def kill(self, name: str) -> None:
        """Send SIGKILL to the service."""
        self._meant.add(name)
        self.all[name].kill()

    def terminate(self, name: str) -> None:
        """Ask the service to end."""
        self._meant.add(name)
        self.all[name].stop()

    def stop(self) -> None:
        """Stop all processes, and wait until they have ended."""
        for child in self.all.values():
            child.stop()
        for child in self.all.values():
            child.wait()

    def _subscriber(self, index: int, name: str) -> Child:
        arguments = ["run", "subscriber", name, "--into", self._into(index, name), "--editable"]
        return self._child(name, arguments)

    def _into(self, index: int, name: str) -> str:
        return f"sqlite:{self._folder / name}.sqlite" if index % 2 else f"folder:{self._folder / name}"

    def _child(self, name: str, arguments: list[str], *, talks: bool = False) -> Child:
        command = [*arguments, "--config", str(self._folder / "callboard.toml")]
        return Child(name, command, self._folder / f"{name}.log", talks=talks)


class Editor:
    """Edits the source and ships every edit, repeating each request under one id until it is accepted."""

    def __init__(self, source: Path, publisher: Child, rng: Random) -> None:
        self._source = source
        self._publisher = publisher
        self._edits = Edits(source, rng)
        self._ids = count(1)
        self.accepted = 0
        self.refused = 0

    async def begin(self) -> None:
        """Ship the whole source."""
        await self._ship(Request("add", ("/",), deep=True))

    async def edit(self) -> None:
        """Edit and ship until cancelled; a begun edit is still shipped."""
        for requests in self._edits.make(1 << 30):
            for request in requests:
                await self._ship(request)
            await asyncio.sleep(PACE_S)

    async def end(self, within_s: float) -> None:
        """Ship the whole source once more. Raises ``NotAnswered``."""
        try:
            async with asyncio.timeout(within_s):
                await self._ship(Request("add", ("/",), deep=True))
        except TimeoutError:
            raise NotAnswered(f"the publisher shipped nothing within {within_s:.0f} s; see its log") from None

    async def _ship(self, request: Request) -> None:
        body = {
            "kind": request.kind,
            "paths": request.paths,
            "deep": request.deep,
            "full": True,
            "source": str(self._source),
        }
        line = json.dumps(body | {"request_id": f"chaos-{next(self._ids)}"}).encode() + b"\n"
        while True:
            try:
                answer = await asyncio.to_thread(self._asked, line)
            except OSError:  # it has ended, and will be restarted
                answer = b""
            if answer:
                reply = json.loads(answer)
                if reply["accepted"] or reply.get("state") == "dropped":
                    self.accepted += 1
                    return
                self.refused += 1  # such as by an agent that has given up, whose service will end
            await asyncio.sleep(POLL_S)

    def _asked(self, line: bytes) -> bytes:
        self._publisher.stdin.write(line)
        self._publisher.stdin.flush()
        return self._publisher.stdout.readline()
