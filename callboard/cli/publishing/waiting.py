"""Waits until the fleet has a package, and shows the progress."""

import asyncio
import time
from collections.abc import Collection, Iterator
from enum import Enum, auto
from typing import TYPE_CHECKING

from callboard.board.read.status.remedies import why
from callboard.board.read.status.status import BLOCKED_ATTEMPTS
from callboard.board.views import SubscriberStatus, shown_state
from callboard.messages.relayed import is_for, site_of
from callboard.units import age

if TYPE_CHECKING:
    from callboard.board.board import Callboard

POLL_S = 0.25
"""Announcements come at most once a second; a poll costs a millisecond."""


class Progressed(Enum):
    """How far a subscriber is with a package."""

    DONE = auto()
    UNDER_WAY = auto()
    STUCK = auto()
    """It will not get to the package without intervention."""
    MISSING = auto()
    """It is past the package, but does not have all of it: given up, held, or with a failed hook."""


async def wait_for_fleet(
    board: "Callboard", publisher: str, offset: int, timeout_s: float, recipients: Collection[str] = ()
) -> list[str]:
    """Wait until every live subscriber that gets the package has it; returns a line for each that has not, and why.

    Ends when there is nothing left to wait for: every subscriber has it or is stuck.
    """
    from callboard.cli.terminal.screen import progress

    deadline = time.monotonic() + timeout_s
    with progress("subscribers") as tell:
        while True:
            rows = (await board.status()).subscribers
            fleet = {row.name: row for row in rows if row.counts and _gets(row, publisher, recipients)}
            found = {name: progressed(row, offset) for name, row in fleet.items()}
            done = sum(each is Progressed.DONE for each in found.values())
            tell("subscribers", done, len(fleet))
            if Progressed.UNDER_WAY not in found.values() or time.monotonic() > deadline:
                break
            await asyncio.sleep(POLL_S)
    lines = [_line(fleet[name], offset) for name, each in found.items() if each is not Progressed.DONE]
    return [*lines, *_absent(publisher, recipients, fleet)]


def progressed(row: SubscriberStatus, offset: int) -> Progressed:
    """How far the subscriber is with the package at this offset, by its announcement."""
    if row.offset < offset:
        stuck = row.liveness == "live" and row.state in ("blocked", "gap", "paused")
        return Progressed.STUCK if stuck else Progressed.UNDER_WAY
    if offset not in row.left:
        return Progressed.DONE
    failing = row.hook_offset == offset and row.hook_attempts >= BLOCKED_ATTEMPTS
    return Progressed.UNDER_WAY if row.hooks_due and not failing else Progressed.MISSING


def _line(row: SubscriberStatus, offset: int) -> str:
    """Why the subscriber does not have the package."""
    if row.offset < offset:
        where = f"{row.name} is not there yet: {shown_state(row)}, at offset {row.offset}"
        return f"{where}. {why(row.troubles) or f'It was last heard of {age(row.seen_s)} ago'}"
    return f"{row.name} has processed it, but does not have all of it: {why(row.troubles) or 'see `callboard errors`'}"


def _absent(publisher: str, recipients: Collection[str], fleet: Collection[str]) -> Iterator[str]:
    """The remark about subscribers that are not live."""
    if recipients:
        yield from (
            f"{name} is not running; it gets this when it starts" for name in recipients if site_of(name) not in fleet
        )
    elif not fleet:
        yield f"no subscriber of {publisher!r} is running; the package stays on the log for them"


def _gets(row: SubscriberStatus, publisher: str, recipients: Collection[str]) -> bool:
    return (not row.follows or publisher in row.follows) and is_for(recipients, row.name)
