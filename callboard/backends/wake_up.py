"""One future that all who wait for the next change share."""

import asyncio
from collections.abc import Callable


class WakeUp:
    """Wakes every waiter at once, whatever their number, for the price of one future.

    To be used from one event loop. Time is the loop's, so a loop with a virtual clock works as well.
    """

    def __init__(self) -> None:
        self._future: asyncio.Future[None] | None = None

    def ring(self) -> None:
        """Wake everyone who waits now."""
        future, self._future = self._future, None
        if future is not None and not future.done():
            future.set_result(None)

    def next_ring(self) -> asyncio.Future[None]:
        """The future of the next ring, shared by all.

        Wait for it only with ``asyncio.wait``, which leaves it alone when the waiter is cancelled.
        """
        if self._future is None:
            self._future = asyncio.get_running_loop().create_future()
        return self._future

    async def until(self, ready: Callable[[], bool], timeout_s: float) -> bool:
        """Wait until ``ready`` (asked again after each ring) or the timeout; whether it is ready."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + timeout_s
        while not ready():
            left_s = deadline - loop.time()
            if left_s <= 0:
                return False
            await asyncio.wait({self.next_ring()}, timeout=left_s)
        return True
