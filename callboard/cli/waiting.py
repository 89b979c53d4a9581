"""Waits until the fleet has a package, and shows how far it is."""

import asyncio
import time

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from callboard.app.board import Callboard
from callboard.app.views import SubscriberStatus
from callboard.cli.output import say

POLL_S = 0.25
"""Announcements come at most once a second; a look costs a millisecond."""


async def wait_for_fleet(board: Callboard, publisher: str, offset: int, timeout_s: float) -> list[SubscriberStatus]:
    """Wait until every live subscriber of the publisher is past the offset; those that are not in time."""
    deadline = time.monotonic() + timeout_s
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        bar = progress.add_task("subscribers", total=None)
        while True:
            fleet = [row for row in (await board.status()).subscribers if _counts(row, publisher)]
            behind = [row for row in fleet if row.offset < offset]
            progress.update(bar, total=len(fleet), completed=len(fleet) - len(behind))
            if not behind or time.monotonic() > deadline:
                break
            await asyncio.sleep(POLL_S)
    if not fleet:
        say("no live subscriber to wait for")
    return behind


def _counts(row: SubscriberStatus, publisher: str) -> bool:
    return row.liveness == "live" and (not row.follows or publisher in row.follows)
