"""Workers are struck in an order that a seed decides, while they run jobs."""

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from random import Random

from callboard import Callboard
from callboard.actors.jobs.jobs import Jobs
from callboard.board.jobs.new_job import NewJob
from callboard.errors import LogUnavailable
from callboard.messages.jobs.job_state import JobState
from callboard.messages.topics import job_topic
from tests.chaos.failover.storm import POLL_S, Server, Service
from tests.chaos.jobs.account import Account
from tests.chaos.jobs.working_service import create

SUSPENDED_S = {"fast": 4.0, "default": 13.0}
"""By the profile of the members: longer than a lease, which takes 2.5 s or 10 s."""

DEADLINE_S = 240.0
"""Without progress: a worker may be suspended while it holds the log's lock, and the machine may be busy."""


class Storm:
    """Strikes: ``kill_dispatcher``, ``kill_other``, ``suspend``, ``server_down``. Those that were killed start again
    under the same id.
    """

    def __init__(
        self, folder: Path, log: str, seed: int, workers: int, profile: str, server: Server | None = None
    ) -> None:
        self._folder, self._log, self._random, self._server = folder, log, Random(seed), server
        names = [f"w{number}" for number in range(workers)]
        words = (log, str(folder), profile)
        self._suspended_s = SUSPENDED_S[profile]
        self._services = {name: Service(name, words, folder, "tests.chaos.jobs.working_service") for name in names}
        self.struck: set[str] = set()
        create(folder)
        self._board = Callboard(log, blobs="./blobs", base=folder)
        self._jobs = Jobs()

    async def run(self, strikes: list[str], many: int) -> Account:
        """Add this many jobs, a part before each strike, and wait until all have ended."""
        async with self._board:
            try:
                for service in self._services.values():
                    service.start()
                await self._until(self._all_work)
                for place, strike in enumerate(strikes):
                    await self._until(self._none_suspended)  # which may hold the log's lock
                    part = many * (place + 1) // len(strikes) - many * place // len(strikes)
                    await self._board.jobs.add_all([NewJob(topic=f"work/{n % 3}", payload=n) for n in range(part)])
                    enough = self._ended() + part // 4
                    await self._until(lambda enough=enough: self._ended() >= enough)  # type: ignore[misc]
                    await getattr(self, f"_{strike}")()
                await self._until(lambda: self._ended() == many)
                await self._until(self._none_suspended)
                await self._until(self._all_work)  # what those that went on had still to say was said before
            finally:
                for service in self._services.values():
                    service.kill()
            account = Account(self._folder)
            await account.read(self._board.context.log, job_topic())
            return account

    def _ended(self) -> int:
        return sum(many for (_, state), many in self._jobs.table.counts.items() if JobState(state).is_final)

    def _none_suspended(self) -> bool:
        return not any(each.suspended_until_s for each in self._services.values())

    def _all_work(self) -> bool:
        workers = [worker.instance for worker in self._jobs.workers.values()]
        return sorted(workers) == sorted(self._services) and all(each.is_up for each in self._services.values())

    # Strikes.

    def _dispatcher(self) -> Service:
        worker = self._jobs.workers.get(self._jobs.fence.dispatcher)
        return self._services[worker.instance] if worker else self._random.choice(list(self._services.values()))

    def _other(self) -> Service:
        dispatcher = self._dispatcher()
        return self._random.choice([each for each in self._services.values() if each is not dispatcher])

    def _kill(self, service: Service) -> None:
        self.struck.add(service.name)
        service.suspended_until_s = 0.0
        service.kill()
        service.start()

    async def _kill_dispatcher(self) -> None:
        self._kill(self._dispatcher())

    async def _kill_other(self) -> None:
        self._kill(self._other())

    async def _suspend(self) -> None:
        service = self._random.choice([self._dispatcher(), self._other()])
        self.struck.add(service.name)
        service.suspend(time.monotonic() + self._suspended_s)

    async def _server_down(self) -> None:
        assert self._server is not None
        await self._until(self._none_suspended)
        await self._until(lambda: all(each.is_up for each in self._services.values()))
        self.struck.update(self._services)  # whose lease ends first depends on when each finds the server again
        await asyncio.to_thread(self._server.kill)
        back_s = time.monotonic() + self._server.away_s
        await self._until(lambda: time.monotonic() > back_s)
        await asyncio.to_thread(self._server.start)

    async def _until(self, met: Callable[[], bool]) -> None:
        """Wait, and let those go on that were suspended for long enough."""
        progress, deadline_s = -1, 0.0
        while not met():
            for service in self._services.values():
                service.check()
                if 0 < service.suspended_until_s < time.monotonic():
                    service.go_on()
            with suppress(LogUnavailable):
                self._jobs = (await self._board.jobs._read()).jobs
            if progress != (progress := self._ended()):
                deadline_s = time.monotonic() + DEADLINE_S
            if time.monotonic() > deadline_s:
                said = "\n".join(f"{service.name}: {service.said()}" for service in self._services.values())
                raise AssertionError(f"{progress} jobs have ended; the workers said:\n{said}")
            await asyncio.sleep(POLL_S)
