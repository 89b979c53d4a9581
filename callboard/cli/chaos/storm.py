"""A run from its first process to the final comparison."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from callboard.backends.repositories import open_repository
from callboard.backends.repositories.folder_source import FolderSource
from callboard.board.board import Callboard
from callboard.board.views import BoardStatus, SubscriberStatus
from callboard.cli.chaos.agents import PUBLISHER, Agents, Editor
from callboard.cli.chaos.places import Place
from callboard.cli.chaos.report import Outcome, Recoveries
from callboard.cli.chaos.strikes import Strike, Strikes, Struck
from callboard.cli.chaos.watcher import PAUSE_S, Watcher
from callboard.cli.demo import account
from callboard.errors import CallboardError, NotAnswered
from callboard.testing.conformance.repository.harness import Shape, shapes

AT_ONCE = 3
"""Agents that are struck or recover at the same time."""
ALL = ""
"""Used in place of an agent's name."""
ALL_SHARE = 0.3
"""The share of strikes at all agents, if there is a server."""
RECOVER_S = 120.0
"""An agent that has not recovered by then never will."""
START_S, CATCH_UP_S = 240.0, 240.0
"""For twenty subscribers in about two hundred processes, on two shared cores."""


@dataclass
class Progress:
    """The state of the run, for display."""

    doing: str = "starting"
    recoveries: Recoveries = field(default_factory=Recoveries)
    status: BoardStatus = field(default_factory=lambda: BoardStatus((), ()))


class Storm:
    """One run in ``folder``, which holds the source and everything that its processes should keep."""

    def __init__(self, board: Callboard, agents: Agents, place: Place, mark: str, folder: Path, seed: int) -> None:
        self._board, self._agents = board, agents
        self._folder = folder
        self._rng = Random(seed)  # noqa: S311 - for variety, not for secrets
        self._strikes = Strikes(mark, agents, place, self._rng)
        self._watcher = Watcher(board)
        self._editor = Editor(folder / "source", agents.publisher, Random(seed))  # noqa: S311
        self._busy: set[str] = set()
        self._all_next = False
        self.progress = Progress()

    async def run(self, seconds: float) -> Outcome:
        """Do the whole run, with this many seconds of strikes."""
        names = list(self._agents.subscribers)
        async with self._background(self._watcher.run(), self._agents.keep_running()) as background:
            self._agents.start()
            self.progress.doing = f"starting a publisher and {len(names)} subscribers"
            await self._editor.begin()
            await self._until(lambda: all(map(self._watcher.imports, names)), START_S, "the first imports")
            self.progress.doing = "striking"
            editing = asyncio.create_task(self._editor.edit())
            await self._strike_for(seconds, editing)
            editing.cancel()
            with suppress(asyncio.CancelledError):
                await editing
            self.progress.doing = "waiting until all subscribers have caught up"
            await self._editor.end(RECOVER_S)
            disagreeing = await self._settled(names)
            for task in background:
                task.cancel()
        self.progress.doing = "stopping everything"
        await asyncio.to_thread(self._agents.stop)
        return await self._judged(names, disagreeing)

    async def _strike_for(self, seconds: float, editing: asyncio.Task[None]) -> None:
        deadline = time.monotonic() + seconds
        async with asyncio.TaskGroup() as group:
            while time.monotonic() < deadline:
                if editing.done():
                    await editing  # it failed
                if (chosen := self._chosen()) is not None:
                    strike, name = chosen
                    self._busy.add(name)
                    group.create_task(self._strike(strike, name))
                await asyncio.sleep(PAUSE_S)
            self.progress.doing = "waiting for the last ones to recover"

    def _chosen(self) -> tuple[Strike, str] | None:
        """The next strike, if it is time. A strike at all agents has to wait until none is recovering."""
        if ALL in self._busy or len(self._busy) >= AT_ONCE:
            return None
        if self._all_next:
            if self._busy:
                return None
            self._all_next = False
            return self._rng.choice(self._strikes.at_all), ALL
        self._all_next = bool(self._strikes.at_all) and self._rng.random() < ALL_SHARE
        free = [name for name in self._agents.all if name not in self._busy]
        return (self._rng.choice(self._strikes.at_agents), self._rng.choice(free)) if free else None

    async def _strike(self, strike: Strike, name: str) -> None:
        try:
            struck = await strike(name)
            if struck is not None:
                self.progress.recoveries.add(struck.kind, await self._recovered(struck))
        finally:
            self._busy.discard(name)

    async def _recovered(self, struck: Struck) -> float | None:
        """How long it took until all victims had processed a package published after the strike."""
        waiting = set(struck.victims)
        deadline = time.monotonic() + RECOVER_S
        last_ns = 0
        while waiting:
            if time.monotonic() > deadline:
                return None
            for name in list(waiting):
                if found_ns := self._done_ns(name, struck.since_ns):
                    last_ns = max(last_ns, found_ns)
                    waiting.discard(name)
            await asyncio.sleep(PAUSE_S)
        return (last_ns - struck.since_ns) / 1e9

    def _done_ns(self, name: str, since_ns: int) -> int:
        if name == PUBLISHER:
            return self._watcher.published_ns(since_ns)
        return self._watcher.imported_ns(name, since_ns)

    # The end.

    async def _settled(self, names: list[str]) -> list[str]:
        """Wait until, by the status, all have everything; returns those whose status disagrees with the log."""
        end = (await self._board.log.bounds(self._board.settings.topics.package)).end
        rows: dict[str, SubscriberStatus] = {}

        async def caught_up() -> bool:
            with suppress(CallboardError):
                self.progress.status = await self._board.status()
            rows.update({row.name: row for row in self.progress.status.subscribers})
            ours = [rows[name] for name in names if name in rows]
            return len(ours) == len(names) and all(row.offset == end - 1 and row.liveness == "live" for row in ours)

        await self._until(caught_up, CATCH_UP_S, "all subscribers to catch up")
        said, logged = {name: rows[name].imported for name in names}, self._watcher.imports
        await self._until(lambda: all(logged(name) >= said[name] for name in names), CATCH_UP_S, "all statuses")
        return [
            f"{name} says it imported {said[name]} packages, and the log has {logged(name)}"
            for name in names
            if said[name] != logged(name)
        ]

    async def _judged(self, names: list[str], disagreeing: list[str]) -> Outcome:
        self.progress.doing = "comparing every byte with the source"
        differences = list(disagreeing)
        wanted = await asyncio.to_thread(lambda: shapes(FolderSource(self._folder / "source")))
        identical = 0
        for name in names:
            found = await asyncio.to_thread(self._shapes_of, name)
            wrong = [path for path in wanted.keys() | found.keys() if wanted.get(path) != found.get(path)]
            identical += not wrong
            differences += [f"{name}: {path} differs" for path in sorted(wrong)]
        counted = await account.count(self._board, names)
        return Outcome(len(names), identical, counted, self.progress.recoveries, tuple(differences))

    def _shapes_of(self, name: str) -> dict[str, Shape]:
        return shapes(open_repository(self._agents.into(name), self._folder))

    @property
    def packages(self) -> int:
        """The number of packages so far."""
        return self._watcher.packages

    async def _until(self, condition: Callable[[], bool | Awaitable[bool]], seconds: float, what: str) -> None:
        deadline = time.monotonic() + seconds
        while True:
            fulfilled = condition()
            if fulfilled is True or (not isinstance(fulfilled, bool) and await fulfilled):
                return
            if time.monotonic() > deadline:
                raise NotAnswered(f"waited {seconds:.0f} s for {what}, in vain; see the logs in {self._folder}")
            await asyncio.sleep(PAUSE_S)

    @asynccontextmanager
    async def _background(self, *works: Coroutine[Any, Any, None]) -> AsyncIterator[list[asyncio.Task[None]]]:
        tasks = [asyncio.create_task(work) for work in works]
        try:
            yield tasks
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
