"""Calls the listeners with the events that are due."""

import asyncio
import inspect
from collections.abc import Callable
from typing import Any

from callboard.board.member.calling import called
from callboard.board.member.listening import Listening
from callboard.board.member.topology_view import TopologyEvent
from callboard.logger import get_logger

TopologyListener = Callable[[TopologyEvent], object]
"""Synchronous, in a thread of its own, or asynchronous, on the event loop."""


class Dispatch:
    """Calls each listener with one event after another.

    Args:
        listening: decides what is due.
        now_ms: the monotonic clock.
        timeout_s: an asynchronous listener is cancelled after this time; of any other it is only logged.
        changed: called when the view, or what listeners have returned from, may have changed.
    """

    def __init__(
        self, listening: Listening, now_ms: Callable[[], int], timeout_s: float, changed: Callable[[], None]
    ) -> None:
        self._listening, self._now_ms, self._timeout_s, self._changed = listening, now_ms, timeout_s, changed
        self._calls: set[asyncio.Task[None]] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._closed = False

    def pump(self) -> None:
        """Call those who are due."""
        if self._timer is not None:
            self._timer.cancel()
        if self._closed:
            return
        loop, now_ms = asyncio.get_running_loop(), self._now_ms()
        self._listening.tick(now_ms)
        for listener, event in self._listening.due(now_ms):
            call = loop.create_task(self._call(listener, event))
            self._calls.add(call)
            call.add_done_callback(self._calls.discard)
        if (wake_ms := self._listening.wake_ms(now_ms)) is not None:
            self._timer = loop.call_later((wake_ms - now_ms + 1) / 1000, self.pump)
        self._changed()

    @property
    def is_calling(self) -> bool:
        """Whether an asynchronous listener asks this."""
        return asyncio.current_task() in self._calls

    async def _call(self, listener: Any, event: TopologyEvent) -> None:
        log = get_logger().bind(listener=getattr(listener, "__qualname__", repr(listener)), kind=str(event.kind))
        cancels = inspect.iscoroutinefunction(listener)
        late = asyncio.get_running_loop().call_later(self._timeout_s, _late, log, self._timeout_s)
        try:
            async with asyncio.timeout(self._timeout_s if cancels else None):
                await called(listener, event)
        except (Exception, asyncio.CancelledError) as error:
            if self._closed:
                raise
            log.exception("listener.failed", reason=f"{type(error).__name__}: {error}")
        finally:
            late.cancel()
            self._listening.returned(listener, event)
            self.pump()

    async def close(self) -> None:
        """Call no one any longer. A listener that runs in a thread is left to end by itself."""
        self._closed = True
        self.pump()
        for call in self._calls:
            call.cancel()
        await asyncio.gather(*self._calls, return_exceptions=True)


def _late(log: Any, timeout_s: float) -> None:
    log.warning("listener.late", reason=f"it has not returned after {timeout_s:g} s, and may delay the whole cluster")
