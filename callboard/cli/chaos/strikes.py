"""The strikes; each says which agents have to recover from it, and from when on."""

import asyncio
import resource
import signal
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from random import Random

from callboard.cli.chaos.agents import PUBLISHER, Agents
from callboard.cli.chaos.inventory import family, send
from callboard.cli.chaos.places import Place
from callboard.cli.demo.child import Child

SUSPENDED_S = (1.0, 8.0)
"""Shorter and longer than it takes to detect a hung actor."""
SHORTAGE_S = 3.0
AWAY_S = (1.0, 4.0)
FEW_DESCRIPTORS = 3
"""Fewer than every process has open, so none can open another."""
SYSTEM = ("cb:host", "cb:admin", "cb:supervisor", "cb:gateway", "cb:logger")


@dataclass(frozen=True, slots=True)
class Struck:
    """``victims`` have to recover, from ``since_ns`` on, when the strike ended."""

    kind: str
    victims: tuple[str, ...]
    since_ns: int


Strike = Callable[[str], Awaitable[Struck | None]]


class Strikes:
    """All strikes for this place. A strike at an agent that is not running has no effect and returns None."""

    def __init__(self, mark: str, agents: Agents, place: Place, rng: Random) -> None:
        self._mark, self._agents, self._place, self._rng = mark, agents, place, rng
        self.at_agents: tuple[Strike, ...] = (
            self.kill_actor, self.kill_actor, self.kill_system, self.kill_service, self.terminate, self.hang_actor,
            self.suspend, self.fill_disk, self.exhaust_descriptors,
        )  # fmt: skip
        self.at_all: tuple[Strike, ...] = ()
        if place.server is not None:
            self.at_all = (self.kill_server, self.freeze_server, self.cut, self.delay, self.go_silent, self.refuse)

    # At one agent.

    async def kill_actor(self, name: str) -> Struck | None:
        """Send SIGKILL to the process of an actor."""
        return self._hit(name, self._actors(name), signal.SIGKILL, "kill -9")

    async def kill_system(self, name: str) -> Struck | None:
        """Send SIGKILL to one of the processes that run actors, including the one that holds their leash."""
        found = [(pid, role) for pid, role in self._family(name).items() if role in SYSTEM]
        return self._hit(name, found, signal.SIGKILL, "kill -9")

    async def hang_actor(self, name: str) -> Struck | None:
        """Send SIGSTOP to an actor, for good: its supervisor has to notice."""
        return self._hit(name, self._actors(name), signal.SIGSTOP, "hang")

    async def kill_service(self, name: str) -> Struck | None:
        """Send SIGKILL to the service itself, which takes everything with it."""
        if not self._child(name).alive:
            return None
        self._agents.kill(name)
        return self._now("kill -9 service", name)

    async def terminate(self, name: str) -> Struck | None:
        """Send SIGTERM to the service."""
        self._agents.terminate(name)
        return self._now("SIGTERM service", name)

    async def suspend(self, name: str) -> Struck | None:
        """Send SIGSTOP to all processes of the agent, and SIGCONT after a while."""
        pids = list(self._family(name))
        send(pids, signal.SIGSTOP)
        try:
            await asyncio.sleep(self._rng.uniform(*SUSPENDED_S))
        finally:
            send(pids, signal.SIGCONT)
        return self._now("suspend agent", name)

    async def fill_disk(self, name: str) -> Struck | None:
        """Make every write to a file fail for a while, as on a full disk."""
        return await self._in_short_supply("full disk", name, resource.RLIMIT_FSIZE, 0)

    async def exhaust_descriptors(self, name: str) -> Struck | None:
        """Let no further descriptor be opened for a while."""
        return await self._in_short_supply("no descriptors", name, resource.RLIMIT_NOFILE, FEW_DESCRIPTORS)

    # At all of them: the log's server, and the network before it.

    async def kill_server(self, _: str) -> Struck | None:
        """Send SIGKILL to the server, and restart it after a while."""
        assert self._place.server is not None
        await asyncio.to_thread(self._place.server.kill)
        await self._wait(AWAY_S)
        await asyncio.to_thread(self._place.server.start)
        return self._all_struck("kill -9 server")

    async def freeze_server(self, _: str) -> Struck | None:
        """Send SIGSTOP to the server, and SIGCONT after a while."""
        assert self._place.server is not None
        self._place.server.signal(signal.SIGSTOP)
        try:
            await self._wait(SUSPENDED_S)
        finally:
            self._place.server.signal(signal.SIGCONT)
        return self._all_struck("freeze server")

    async def cut(self, _: str) -> Struck | None:
        """Reset every connection."""
        assert self._place.network is not None
        self._place.network.cut()
        return self._all_struck("network cut")

    async def delay(self, _: str) -> Struck | None:
        """Delay everything by a tenth of a second."""
        assert self._place.network is not None
        self._place.network.delay_s = 0.1
        await self._wait(AWAY_S)
        self._place.network.delay_s = 0.0
        return self._all_struck("network slow")

    async def go_silent(self, _: str) -> Struck | None:
        """Keep connections open but pass nothing, then reset them and lose what was sent meanwhile."""
        assert self._place.network is not None
        self._place.network.silent = True
        await self._wait(SUSPENDED_S)
        self._place.network.cut()
        self._place.network.silent = False
        return self._all_struck("network half-open")

    async def refuse(self, _: str) -> Struck | None:
        """Reset every connection, and for a while every new one."""
        assert self._place.network is not None
        self._place.network.closed = True
        self._place.network.cut()
        await self._wait(AWAY_S)
        self._place.network.closed = False
        return self._all_struck("network down")

    # Shared steps.

    def _hit(self, name: str, found: list[tuple[int, str]], number: signal.Signals, what: str) -> Struck | None:
        if not found:
            return None
        pid, role = self._rng.choice(sorted(found))
        send([pid], number)
        return self._now(f"{what} {role.removeprefix('cb:')}", name)

    async def _in_short_supply(self, what: str, name: str, kind: int, limit: int) -> Struck | None:
        for pid in self._family(name):
            _limit(pid, kind, (limit, resource.getrlimit(kind)[1]))
        try:
            await asyncio.sleep(SHORTAGE_S)
        finally:
            usual = resource.getrlimit(kind)  # all have inherited it
            while short := [pid for pid in self._family(name) if _limits(pid, kind)[0] == limit != usual[0]]:
                for pid in short:  # twice, because some may be forked meanwhile
                    _limit(pid, kind, usual)
        return self._now(what, name)

    def _actors(self, name: str) -> list[tuple[int, str]]:
        named = ((pid, role) for pid, role in self._family(name).items() if role.startswith("cb:"))
        return [(pid, role) for pid, role in named if role not in SYSTEM]

    def _family(self, name: str) -> dict[int, str]:
        return family(self._mark, self._child(name).pid)

    def _child(self, name: str) -> Child:
        return self._agents.all[name]

    async def _wait(self, between: tuple[float, float]) -> None:
        await asyncio.sleep(self._rng.uniform(*between))

    def _now(self, kind: str, name: str) -> Struck:
        return Struck(kind, (name,), time.time_ns())

    def _all_struck(self, kind: str) -> Struck:
        return Struck(kind, (PUBLISHER, *self._agents.subscribers), time.time_ns())


def _limits(pid: int, kind: int) -> tuple[int, int]:
    try:
        return resource.prlimit(pid, kind)
    except ProcessLookupError:
        return resource.getrlimit(kind)


def _limit(pid: int, kind: int, limits: tuple[int, int]) -> None:
    try:
        resource.prlimit(pid, kind, limits)
    except ProcessLookupError:
        return
