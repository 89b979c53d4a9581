"""Ends an attempt that takes too long, or is quiet for too long."""

import asyncio
from types import TracebackType

from callboard.board.jobs.work.running_job import RunningJob
from callboard.messages.jobs.job_mail import LeasedJob


class TooLong(TimeoutError):
    """An attempt took too long; the text says how long."""


class Deadline:
    """Cancels the body of ``async with`` at the job's timeout, or when it has reported nothing for as long as its queue
    lets it. Raises ``TooLong`` then.
    """

    def __init__(self, leased: LeasedJob, running: RunningJob) -> None:
        self._leased, self._running = leased, running
        self._timeout = asyncio.timeout(leased.timeout_ms / 1000 or None)
        self._look: asyncio.TimerHandle | None = None
        self._quiet = False

    async def __aenter__(self) -> None:
        await self._timeout.__aenter__()
        if self._leased.quiet_ms:
            self._listen()

    def _listen(self) -> None:
        loop = asyncio.get_running_loop()
        until_s = self._running.heard_s + self._leased.quiet_ms / 1000
        self._quiet = until_s <= loop.time()
        if self._quiet:
            self._timeout.reschedule(loop.time())
        else:
            self._look = loop.call_at(until_s, self._listen)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._look is not None:
            self._look.cancel()
        try:
            await self._timeout.__aexit__(kind, error, trace)
        except TimeoutError:
            if self._quiet:
                raise TooLong(f"it reported no progress for {self._leased.quiet_ms / 1000:g} s") from None
            raise TooLong(f"it took longer than {self._leased.timeout_ms / 1000:g} s") from None
