"""Asks the providers of properties, each in a task of its own: one that hangs or fails delays no other."""

import asyncio
from collections.abc import Callable

from callboard.board.member.calling import called
from callboard.board.member.property_sources import Provider
from callboard.logger import get_logger


class Polling:
    """Asks each provider at once, and then again and again.

    Args:
        interval_s: between two times.
        gave: called when a provider has answered.
    """

    def __init__(self, interval_s: float, gave: Callable[[], None]) -> None:
        self._interval_s, self._gave = interval_s, gave
        self._tasks: dict[Provider, asyncio.Task[None]] = {}

    def begin(self, provider: Provider) -> None:
        """Ask this one, too."""
        self._tasks[provider] = asyncio.create_task(self._poll(provider))

    def end(self, provider: Provider) -> None:
        """Ask this one no more."""
        if (task := self._tasks.pop(provider, None)) is not None:
            task.cancel()

    async def close(self) -> None:
        """Ask no one any more."""
        tasks = tuple(self._tasks.values())
        for provider in tuple(self._tasks):
            self.end(provider)
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _poll(self, provider: Provider) -> None:
        while True:
            try:
                provider.gave({name: await called(provider.get, name) for name in provider.names})
            except Exception as error:  # noqa: BLE001 - the service's own function may fail in any way
                get_logger().exception("provider.failed", reason=f"{type(error).__name__}: {error}")
            self._gave()
            await asyncio.sleep(self._interval_s)
