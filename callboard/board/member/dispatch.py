"""Calls the listeners with the events that are due."""

import asyncio
from collections.abc import Callable
from typing import Any

from callboard.board.member.calling import called
from callboard.board.member.listening import Listening
from callboard.board.member.topology_event import TopologyEvent
from callboard.logger import get_logger

TopologyListener = Callable[[TopologyEvent], object]
"""Synchronous, in a thread of its own, or asynchronous, on the event loop."""


class Dispatch:
    """Calls each listener with one event after another.

    Args:
        listening: decides what is due.
        now_ms: the monotonic clock.
        timeout_s: an asynchronous listener is cancelled after this time; of any other it is only logged.
        returned: called each time a listener has returned.
    """

    def __init__(
        self, listening: Listening, now_ms: Callable[[], int], timeout_s: float, returned: Callable[[], None]
    ) -> None:
        self._listening, self._now_ms, self._timeout_s, self._returned = listening, now_ms, timeout_s, returned
        self._calls: set[asyncio.Task[None]] = set()
        self._timer: asyncio.TimerHandle | None = None

    def pump(self) -> None:
        """Call those who are due."""
        now_ms = self._now_ms()
        self._listening.tick(now_ms)
        for listener, event in self._listening.due(now_ms):
            call = asyncio.create_task(self._call(listener, event))
            self._calls.add(call)
            call.add_done_callback(self._calls.discard)
        if self._timer is not None:
            self._timer.cancel()
        wake_ms = self._listening.wake_ms(now_ms)
        loop = asyncio.get_running_loop()
        self._timer = None if wake_ms is None else loop.call_later((wake_ms - now_ms) / 1000, self.pump)

    async def _call(self, listener: Any, event: TopologyEvent) -> None:
        log = get_logger().bind(listener=getattr(listener, "__qualname__", repr(listener)), kind=str(event.kind))
        slow = asyncio.get_running_loop().call_later(self._timeout_s, log.warning, "listener.late")
        try:
            if asyncio.iscoroutinefunction(listener):
                async with asyncio.timeout(self._timeout_s):
                    await listener(event)
            else:
                await called(listener, event)
        except TimeoutError:
            log.exception("listener.failed", reason=f"it was cancelled after {self._timeout_s:g} s")
        except (Exception, asyncio.CancelledError) as error:
            if (task := asyncio.current_task()) and task.cancelling():
                raise
            log.exception("listener.failed", reason=f"{type(error).__name__}: {error}")
        finally:
            slow.cancel()
            self._listening.returned(listener)
            self._returned()
            self.pump()

    async def close(self) -> None:
        """Call no one any longer. A listener that runs in a thread is left to end by itself."""
        if self._timer is not None:
            self._timer.cancel()
        for call in self._calls:
            call.cancel()
        await asyncio.gather(*self._calls, return_exceptions=True)
