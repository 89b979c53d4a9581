"""Five services on one log are struck in an order that a seed decides, until others led often enough."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from itertools import accumulate
from pathlib import Path
from random import Random
from statistics import median
from typing import NamedTuple

from tests import stepped_clock
from tests.chaos.failover.counters import UNREACHABLE, Event, history, opened
from tests.tidy.sources import ROOT

NAMES = "abcde"
CLOCKED = "ab"
"""Whose wall clocks are stepped."""
STEPS = ("+45s", "+1d", "-1h", "+0")
UP_MIN = 3
"""Services that run, before the next strike: one to be struck, one to follow it, one to agree."""
DEADLINE_S = 120.0
"""For what takes 3 s: a service may be suspended while it holds the log's lock, and the machine may be busy."""
POLL_S = 0.05
GOES_ON_NS = 1_000_000_000
SAID_CHARACTERS = 3000


class Server(NamedTuple):
    """The server of the log."""

    kill: Callable[[], None]
    start: Callable[[], None]
    away_s: float


class Account:
    """What became of the counters."""

    def __init__(
        self, events: list[Event], guarded: int, unguarded: int, took_s: list[float], suspended: set[tuple[str, int]]
    ) -> None:
        self.written = [event for event in events if event.kind == "guarded"]
        self.guarded = guarded
        others = [event for event in events if event.kind == "unguarded"]
        self.lost = len(others) - unguarded
        newest = accumulate((event.leader_epoch for event in others), max)
        self.late = [event for event, epoch in zip(others, newest, strict=True) if event.leader_epoch < epoch]
        self.refused = sum(event.kind == "refused" for event in events)
        self.took_s, self.suspended = took_s, suspended

    def check(self) -> None:
        """The guarded counter is right, and nobody but leaders that were suspended wrote late to the other one."""
        assert [event.value for event in self.written] == list(range(1, self.guarded + 1)), str(self)
        epochs = [event.leader_epoch for event in self.written]
        assert epochs == sorted(epochs), f"a former leader wrote after its successor: {self}"
        assert {(event.instance, event.leader_epoch) for event in self.late} <= self.suspended, str(self)

    def __str__(self) -> str:
        leaders = len({event.leader_epoch for event in self.written})
        return (
            f"{len(self.took_s)} leaders struck, {leaders} leaders wrote; guarded counter {self.guarded} after "
            f"{len(self.written)} writes, {self.refused} refused; unguarded counter: {len(self.late)} writes of "
            f"former leaders, {self.lost} lost; from a strike to the next leader's first write: median "
            f"{median(self.took_s):.1f} s, max {max(self.took_s):.1f} s"
        )


class Service:
    """One process, started as often as it was killed."""

    def __init__(
        self, name: str, words: tuple[str, ...], folder: Path, module: str = "tests.chaos.failover.counting_service"
    ) -> None:
        self.name, self._words, self._folder, self._module = name, words, folder, module
        self._process: subprocess.Popen[bytes] | None = None
        self.suspended_until_s = 0.0
        self.went_on_ns = 0
        self.clock, self._up = folder / f"{name}.clock", folder / f"{name}.up"

    @property
    def is_up(self) -> bool:
        return not self.suspended_until_s and self._up.exists()

    def start(self) -> None:
        environ = {name: value for name, value in os.environ.items() if not name.startswith("CALLBOARD_")}
        if self.name in CLOCKED:
            environ |= stepped_clock.environment(self.clock)
        command = [sys.executable, "-m", self._module, self.name, *self._words]
        with (self._folder / f"{self.name}.said").open("ab") as said:
            self._process = subprocess.Popen(command, cwd=ROOT, env=environ, stdout=said, stderr=said)

    def check(self) -> None:
        ended = self._process.poll() if self._process is not None else None
        assert ended is None, f"{self.name} ended with {ended}:\n{self.said()}"

    def suspend(self, until_s: float) -> None:
        self.suspended_until_s = until_s
        self._signal(signal.SIGSTOP)

    def go_on(self) -> None:
        self.suspended_until_s = 0.0
        self.went_on_ns = time.monotonic_ns()
        self._signal(signal.SIGCONT)

    def kill(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
        self._up.unlink(missing_ok=True)

    def said(self) -> str:
        return (self._folder / f"{self.name}.said").read_text(errors="replace")[-SAID_CHARACTERS:]

    def _signal(self, number: int) -> None:
        assert self._process is not None
        self._process.send_signal(number)


class Storm:
    """Strikes: ``kill`` the leader, ``suspend`` it, step a ``clock`` and kill the leader,
    or take the ``server_down``.

    Args:
        folder: of the services, and of the counters if they have no server.
        log: the URL of the log.
        url: of the counters.
        seed: decides the order of the strikes, and what they hit.
        suspended_s: how long a leader is suspended: one of these.
    """

    def __init__(
        self, folder: Path, log: str, url: str, seed: int, suspended_s: tuple[float, ...], server: Server | None = None
    ) -> None:
        self._url, self._random, self._suspended_s, self._server = url, Random(seed), suspended_s, server
        self.services = {name: Service(name, (log, url, str(folder)), folder) for name in NAMES}
        self.took_s: list[float] = []
        self.suspended: set[tuple[str, int]] = set()
        """Instance and leader epoch."""
        self._to_notice: set[tuple[str, int]] = set()

    async def run(self, strikes: list[str], failovers: int) -> "Account":
        """Strike in a random order until there were this many fail-overs."""
        async with opened(self._url, create=True):
            pass
        try:
            for service in self.services.values():
                stepped_clock.step(service.clock, "+0")
                service.start()
            await self._until(self._all_up)
            while len(self.took_s) < failovers:
                for strike in self._random.sample(strikes, len(strikes)):
                    await self._until(self._enough_up)
                    await getattr(self, f"_{strike}")()
            await self._all_go_on()
        finally:
            for service in self.services.values():
                service.kill()
        async with opened(self._url) as counters:
            value = await counters.fetch("SELECT value FROM counters ORDER BY name")
            return Account(await history(counters), *(each[0] for each in value), self.took_s, self.suspended)

    async def _kill(self) -> None:
        leader = await self._leader()
        service = self.services[leader.instance]
        began_ns = time.monotonic_ns()
        service.kill()
        await self._followed(leader, began_ns)
        service.start()

    async def _suspend(self) -> None:
        leader = await self._leader()
        service = self.services[leader.instance]
        began_ns = time.monotonic_ns()
        service.suspend(time.monotonic() + self._random.choice(self._suspended_s))
        self.suspended.add((leader.instance, leader.leader_epoch))
        if await self._followed(leader, began_ns):
            self._to_notice.add((leader.instance, leader.leader_epoch))

    async def _clock(self) -> None:
        stepped_clock.step(self.services[self._random.choice(CLOCKED)].clock, self._random.choice(STEPS))
        await self._kill()

    async def _server_down(self) -> None:
        assert self._server is not None
        await self._all_go_on()
        await self._until(self._all_up)  # a service cannot start without its log
        before = len(await self._history("kind = 'guarded'"))
        await asyncio.to_thread(self._server.kill)
        back_s = time.monotonic() + self._server.away_s
        await self._until(lambda: _is(time.monotonic() > back_s))
        await asyncio.to_thread(self._server.start)

        async def counted() -> bool:
            return len(await self._history("kind = 'guarded'")) > before

        await self._until(counted)

    # What is waited for.

    async def _leader(self) -> Event:
        """The newest write of a leader that runs."""
        found: list[Event] = []

        async def counts() -> bool:
            found[:] = await self._newest()
            return bool(found) and self.services[found[0].instance].is_up

        await self._until(counts)
        return found[0]

    async def _followed(self, leader: Event, began_ns: int) -> bool:
        """Wait for the first write of the next leader; False if this one goes on before there is one."""
        later: list[Event] = []
        service = self.services[leader.instance]

        async def counted() -> bool:
            later[:] = await self._history(f"kind = 'guarded' AND leader_epoch > {leader.leader_epoch}")
            return bool(later) or (service.is_up and await self._goes_on(service))

        await self._until(counted)
        if later:
            self.took_s.append((later[0].at_ns - began_ns) / 1e9)
        return bool(later)

    async def _goes_on(self, service: Service) -> bool:
        """Whether it counts a second after it was suspended."""
        newest = await self._newest()
        return newest[0].instance == service.name and newest[0].at_ns > service.went_on_ns + GOES_ON_NS

    async def _all_up(self) -> bool:
        return all(service.is_up for service in self.services.values()) and bool(await self._newest())

    async def _enough_up(self) -> bool:
        return sum(service.is_up for service in self.services.values()) >= UP_MIN

    async def _all_go_on(self) -> None:
        """Let all that are suspended go on, until they have noticed that they do not lead."""

        async def noticed() -> bool:
            over = {(it.instance, it.leader_epoch) for it in await self._history("value = 0")}
            return over >= self._to_notice

        await self._until(lambda: _is(not any(each.suspended_until_s for each in self.services.values())))
        await self._until(noticed)

    async def _until(self, met: Callable[[], Awaitable[bool]]) -> None:
        deadline_s = time.monotonic() + DEADLINE_S
        while not await met():
            for service in self.services.values():
                service.check()
                if 0 < service.suspended_until_s < time.monotonic():
                    service.go_on()
            if time.monotonic() > deadline_s:
                said = "\n".join(f"{service.name}: {service.said()}" for service in self.services.values())
                raise AssertionError(f"{met} not so within {DEADLINE_S} s; the services said:\n{said}")
            await asyncio.sleep(POLL_S)

    async def _newest(self) -> list[Event]:
        newest = "(SELECT max(id) FROM events WHERE kind = 'guarded')"
        return await self._history(f"id = {newest}")

    async def _history(self, which: str = "TRUE") -> list[Event]:
        with suppress(*UNREACHABLE):
            async with opened(self._url) as counters:
                return await history(counters, which)
        return []


async def _is(value: bool) -> bool:
    return value
