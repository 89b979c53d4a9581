"""Explains what a command is waiting for, if it takes long."""

import asyncio
import time
from collections.abc import Coroutine
from typing import Any, TypeVar

from callboard.board.connect.settings import BoardSettings
from callboard.cli.terminal.output import say
from callboard.errors import CallboardError

PATIENCE_S = 4.0
"""An append takes milliseconds, but a large upload is silent; after this, people begin to wonder."""

T = TypeVar("T")


async def patiently(work: Coroutine[Any, Any, T], settings: BoardSettings, log: str, *, endless: bool = False) -> T:
    """The result of the work on a board; if it takes long, reports the state of its log on standard error.

    ``log`` is the log's name for people. ``endless`` work is not reported if the log is well: it goes on until Ctrl-C.
    """
    doing = asyncio.ensure_future(work)
    try:
        done, _ = await asyncio.wait({doing}, timeout=PATIENCE_S)
        if not done:
            await _explain(settings, log, doing, endless=endless)
        return await doing
    finally:
        doing.cancel()


async def _explain(settings: BoardSettings, log: str, doing: asyncio.Future[Any], *, endless: bool) -> None:
    from callboard.backends.examination import Level
    from callboard.board.care.checkup import examine_log

    asking = asyncio.ensure_future(examine_log(settings, time.time_ns))
    both: set[asyncio.Future[Any]] = {asking, doing}
    await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
    if not asking.done():
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
        return
    try:
        found = [finding for finding in asking.result().findings if finding.level is Level.PROBLEM]
    except CallboardError as error:
        say(f"still waiting for the log {log}: {error}")
        return
    for finding in found:
        say(f"still waiting for the log {log}: {finding.what}; {finding.fix}")
    if not found and not endless:
        say(f"still at work; `callboard doctor` checks {log}")
