"""Calls functions of the service without blocking the event loop."""

import asyncio
import inspect
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any


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
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[tuple[object, BaseException | None]] = loop.create_future()

    def run() -> None:
        outcome: tuple[object, BaseException | None]
        try:
            outcome = function(*arguments), None
        except BaseException as error:  # noqa: BLE001  # such as SystemExit, which would end the thread unnoticed
            outcome = None, error
        with suppress(RuntimeError):  # the loop was closed in the meantime
            loop.call_soon_threadsafe(_settle, ended, outcome)

    threading.Thread(target=run, name=f"member:{getattr(function, '__name__', 'call')}", daemon=True).start()
    result, error = await ended
    if error is not None:
        raise error if isinstance(error, Exception) else RuntimeError(f"it raised {error!r}")
    return result


def _settle(future: "asyncio.Future[Any]", outcome: object) -> None:
    if not future.done():
        future.set_result(outcome)
