"""Calls functions of the service without blocking the event loop, and does work beside other work."""

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from contextlib import suppress
from typing import Any

from callboard.board.connect.functions.thread import started
from callboard.logger import get_logger


async def called(function: Callable[..., object], *arguments: object) -> object:
    """The function's result; raises what it raises.

    An asynchronous function runs on the event loop. Any other runs in a thread of its own, which goes on if this is
    cancelled: a thread cannot be.
    """
    if inspect.iscoroutinefunction(function):
        return await function(*arguments)
    result = await _in_thread(function, arguments)
    return await result if isinstance(result, Awaitable) else result


async def _in_thread(function: Callable[..., object], arguments: tuple[object, ...]) -> Any:
    name = f"member:{getattr(function, '__name__', 'call')}"
    result, error = await started(name, function, *arguments)[1]
    if error is not None:
        raise error if isinstance(error, Exception) else RuntimeError(f"it raised {error!r}")
    return result


class Failures:
    """Logs the failures of a function of the service that is called again and again: each once, until another one, or
    until it works again.
    """

    def __init__(self, event: str) -> None:
        self._event, self._last = event, ""

    def note(self, error: Exception) -> None:
        """It failed."""
        reason = f"{type(error).__name__}: {error}"
        if reason != self._last:
            get_logger().error(self._event, reason=reason, exc_info=error)
        self._last = reason

    def end(self) -> None:
        """It works."""
        self._last = ""


def running_loop() -> asyncio.AbstractEventLoop | None:
    """The event loop of this thread, if it runs one."""
    with suppress(RuntimeError):
        return asyncio.get_running_loop()
    return None


async def completed(work: Coroutine[Any, Any, None]) -> None:
    """Do the work to its end; if this is cancelled meanwhile, only then."""
    doing = asyncio.create_task(work)
    try:
        await asyncio.shield(doing)
    except asyncio.CancelledError:
        await asyncio.wait({doing})
        raise


async def one_ended(waiting: Coroutine[Any, Any, None], works: Iterable[asyncio.Task[None]]) -> None:
    """Wait until one of these has ended. Raises the error that ended it, unless it was cancelled."""
    first = asyncio.create_task(waiting)
    try:
        done, _ = await asyncio.wait({first, *works}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        first.cancel()
    for each in done:
        if not each.cancelled():
            each.result()


class Tasks:
    """Tasks under names."""

    def __init__(self) -> None:
        self._tasks: dict[object, asyncio.Task[None]] = {}

    def __contains__(self, name: object) -> bool:
        return name in self._tasks

    def begin(self, name: object, work: Coroutine[Any, Any, None]) -> None:
        """Do the work, in place of what is done under this name."""
        self.end(name)
        task = self._tasks[name] = asyncio.create_task(work)
        task.add_done_callback(lambda _: self._tasks.pop(name) if self._tasks.get(name) is task else None)

    def end(self, name: object) -> None:
        """Cancel what is done under this name, if anything is."""
        if (task := self._tasks.pop(name, None)) is not None:
            task.cancel()

    async def close(self) -> None:
        """Cancel all, and wait until they have ended."""
        tasks, self._tasks = tuple(self._tasks.values()), {}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
