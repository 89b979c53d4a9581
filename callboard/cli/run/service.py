"""Signals to long-running commands: they stop in order when asked, and at once at a further Ctrl-C."""

import asyncio
import os
import signal
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from typing import Any

from callboard.cli.terminal.exit_codes import INTERRUPTED
from callboard.cli.terminal.output import say


@contextmanager
def stop_signals() -> Iterator[asyncio.Event]:
    """The event that is set when SIGINT (Ctrl-C) or SIGTERM asks the process to stop.

    A SIGINT after that ends it at once.
    """
    loop, stop = asyncio.get_running_loop(), asyncio.Event()

    def on_signal(interrupt: bool) -> None:
        if interrupt and stop.is_set():
            os._exit(INTERRUPTED)  # actor processes are on a leash, and end with this one
        if interrupt:
            say("stopping; Ctrl-C again ends at once")
        stop.set()

    loop.add_signal_handler(signal.SIGINT, on_signal, True)
    loop.add_signal_handler(signal.SIGTERM, on_signal, False)
    try:
        yield stop
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)


async def first_of(*works: Coroutine[Any, Any, Any]) -> None:
    """Run all until the first ends, then cancel the others. Raises the error that ended it."""
    tasks = [asyncio.ensure_future(work) for work in works]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    for task in done:
        task.result()
