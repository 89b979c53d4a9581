"""Calls a function in a thread of its own."""

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from contextvars import copy_context
from typing import Any


def started(
    name: str, function: Callable[..., object], *arguments: object
) -> tuple[threading.Thread, "asyncio.Future[tuple[object, BaseException | None]]"]:
    """Call the function in a daemon thread, which does not keep the process alive if it never returns, and which has a
    copy of the present context. The future gets its result, or what it raises.
    """
    loop, context = asyncio.get_running_loop(), copy_context()
    ended: asyncio.Future[tuple[object, BaseException | None]] = loop.create_future()

    def run() -> None:
        outcome: tuple[object, BaseException | None]
        try:
            outcome = context.run(function, *arguments), None
        except BaseException as error:  # noqa: BLE001  # such as SystemExit, which would end the thread unnoticed
            outcome = None, error
        with suppress(RuntimeError):  # the loop was closed in the meantime
            loop.call_soon_threadsafe(_settle, ended, outcome)

    thread = threading.Thread(target=run, name=name, daemon=True)
    thread.start()
    return thread, ended


def _settle(future: "asyncio.Future[Any]", outcome: object) -> None:
    if not future.done():
        future.set_result(outcome)
