"""``callboard topology demo``: five services with one leader, which is killed, killed and drained."""

import asyncio
import secrets
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from callboard.board.board import Callboard
from callboard.cli.terminal.stage import Services, conclude, stage
from callboard.errors import NotAnswered

if TYPE_CHECKING:
    from callboard.board.member.member import Member

NAMES = ("a", "b", "c", "d", "e")
DEADLINE_S = 60.0
"""For what takes seconds."""
POLL_S = 0.05
KILLS = 2
COUNTS = 20
"""How far a leader counts before something happens to it."""


def demo() -> None:
    """Kill the leader of five services twice, drain the third, and check what the leaders counted."""
    with stage() as (folder, tell):
        good, line = asyncio.run(Demo(folder, tell).run())
    conclude(line, good=good)


class Demo:
    """Five services on one log, and this process on another; connectors tell each of the other's cluster."""

    def __init__(self, folder: Path, tell: Callable[[str], None]) -> None:
        from callboard.cli.topology_demo import service
        from callboard.connectors import ConnectorKey, ConnectorSettings, Timing
        from callboard.testing.servers.network import free_port

        self._folder, self._tell, self._service = folder, tell, service
        keys = (ConnectorKey("demo", secrets.token_bytes(32)),)
        places = [f"127.0.0.1:{free_port()}" for _ in NAMES]
        listening = [ConnectorSettings(listen=place, keys=keys) for place in places]
        urls = tuple([f"http://{place}/callboard/topology" for place in places])
        self._calling = ConnectorSettings(urls=(urls,), keys=keys, timing=Timing(interval_ms=500, timeout_ms=3000))
        self._settings = dict(zip(NAMES, listening, strict=True))
        self._services = Services()
        self._epoch = -1

    async def run(self) -> tuple[bool, str]:
        """Whether all went well, and the figures."""
        with closing(sqlite3.connect(self._folder / self._service.COUNTS)) as db:
            db.execute("PRAGMA journal_mode = wal")
            db.execute(self._service.SCHEMA)
        async with (
            Callboard(self._service.LOG, base=self._folder) as red,
            Callboard("sqlite:///./blue.db", base=self._folder) as blue,
            blue.member(instance="x", cluster="blue", profile="fast") as x,
            await self._service.connected(x, self._calling),
        ):
            with self._services:
                return await self._play(red, x)

    async def _play(self, red: Callboard, x: "Member") -> tuple[bool, str]:
        for name in NAMES:
            self._start(name)
        await self._until(lambda: self._all_in(x), "all services are in the cluster")
        self._tell(f"{len(NAMES)} services are in cluster red; a member of cluster blue sees them")
        leader = await self._next_leader()
        for _ in range(KILLS):
            self._services.kill(leader)
            self._tell(f"kill -9 of the leader, {leader}")
            killed, leader = leader, await self._next_leader()
            self._tell(f"{leader} leads; {killed} starts again")
            self._start(killed)
        await self._until(lambda: self._all_in(x), "all services are in the cluster again")
        drained = await red.topology.drain(leader, reason="the demo")
        self._tell(f"{leader} is drained")
        self._tell(f"{await self._next_leader()} leads")
        return self._outcome(x, drained=drained.accepted is True)

    def _start(self, name: str) -> None:
        self._services.start(name, self._service.serve, self._folder, name, self._settings[name])

    async def _next_leader(self) -> str:
        """Wait until another leader has counted for a while; its name."""
        await self._until(lambda: len(self._newer()) > COUNTS, "another leader counts")
        *_, (_, self._epoch, leader) = self._newer()
        return leader

    def _all_in(self, x: "Member") -> bool:
        return len(x.topology().instances) == 1 + len(NAMES)

    def _newer(self) -> list[tuple[int, int, str]]:
        return [each for each in self._counts() if each[1] > self._epoch]

    def _counts(self) -> list[tuple[int, int, str]]:
        """What was counted: value, epoch and name of the leader, in order."""
        with closing(sqlite3.connect(self._folder / self._service.COUNTS)) as db:
            return db.execute("SELECT value, leader_epoch, leader FROM counts ORDER BY rowid").fetchall()

    def _outcome(self, x: "Member", *, drained: bool) -> tuple[bool, str]:
        counts = self._counts()
        twice = len(counts) - len({value for value, _, _ in counts})
        late = sum(before[1] > after[1] for before, after in pairwise(counts))
        leaders, seen = len({epoch for _, epoch, _ in counts}), len(x.topology().instances)
        good = drained and leaders >= KILLS + 2 and self._all_in(x) and not twice and not late
        return good, (
            f"topology demo: {leaders} leaders of {len(NAMES)} services, {KILLS} killed, {drained:d} drained; "
            f"{len(counts)} counted, {twice} twice, {late} by former leaders; "
            f"{seen} instances in {len(x.topology().clusters)} clusters"
        )

    async def _until(self, met: Callable[[], bool], what: str) -> None:
        deadline_s = time.monotonic() + DEADLINE_S
        while not met():
            ended = self._services.ended()
            if ended or time.monotonic() > deadline_s:
                raise NotAnswered(f"not so after {DEADLINE_S:g} s: {what}; ended: {', '.join(ended) or 'no service'}")
            await asyncio.sleep(POLL_S)
