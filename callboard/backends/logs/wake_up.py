"""One future for the next change, shared by all waiters."""

import asyncio
from collections.abc import Callable


class WakeUp:
    """Wakes all waiters at once.

    Use it from one event loop. Time is the loop's, so a loop with a virtual clock works as well.
    """

    def __init__(self) -> None:
        self._future: asyncio.Future[None] | None = None
        self._waiters: dict[asyncio.Future[None], None] = {}  # in order of arrival

    def ring(self) -> None:
        """Wake all current waiters."""
        future, self._future = self._future, None
        if future is not None:
            _wake(future)
        waiters, self._waiters = self._waiters, {}
        for waiter in waiters:
            _wake(waiter)

    def next_ring(self) -> asyncio.Future[None]:
        """The future of the next ring, shared by all waiters.

        Wait for it only with ``asyncio.wait``, which does not cancel it when the waiter is cancelled.
        """
        if self._future is None:
            self._future = asyncio.get_running_loop().create_future()
        return self._future

    async def pause(self, timeout_s: float) -> None:
        """Wait for the next ring or the timeout. Costs half of ``asyncio.wait``, which matters with many waiters."""
        loop = asyncio.get_running_loop()
        waiter: asyncio.Future[None] = loop.create_future()
        timer = loop.call_later(timeout_s, _wake, waiter)
        self._waiters[waiter] = None
        try:
            await waiter
        finally:
            timer.cancel()
            self._waiters.pop(waiter, None)

    async def until(self, ready: Callable[[], bool], timeout_s: float) -> bool:
        """Wait until ``ready`` (checked after each ring) or the timeout; returns whether it is ready."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + timeout_s
        while not ready():
            left_s = deadline - loop.time()
            if left_s <= 0:
                return False
            await self.pause(left_s)
        return True


def _wake(waiter: asyncio.Future[None]) -> None:
    if not waiter.done():
        waiter.set_result(None)
