"""Incidents in the demo besides the kills, and their remedies: on separate files, while edits are published."""

import asyncio
import time
from collections.abc import Callable
from pathlib import Path

from callboard.board.board import Callboard
from callboard.board.views import SubscriberStatus
from callboard.cli.demo.edits import INCIDENTS, Request
from callboard.cli.demo.fleet import Fleet
from callboard.cli.demo.gatekeeper import REFUSED_BY, WHILE
from callboard.cli.demo.progress import Progress

STAGED, GOLDEN = "edge-4", "edge-1"
QUARANTINING = "edge-2"
STUBBORN = "edge-5"
"""It never gives a package up, and has a standby."""
PATIENT = "edge-3"
"""It waits long before it retries a package."""

SETTINGS = f"""\
[subscribers.{STAGED}]
golden = "{GOLDEN}"
expect = true

[subscribers.{QUARANTINING}]
before_import = "callboard.cli.demo.gatekeeper:check"
max_retries = 1
retry_first_s = 0.2
on_give_up = "quarantine"

[subscribers.{STUBBORN}]
before_import = "callboard.cli.demo.gatekeeper:check"
max_retries = -1
retry_max_s = 2.0

[subscribers.{PATIENT}]
before_import = "callboard.cli.demo.gatekeeper:check"
max_retries = -1
retry_first_s = 30.0
"""
REASON = "to show it"
WAIT_S = 120.0
"""For any step: a subscriber may have to import the whole tree first."""


class Incidents:
    """Each incident is a sequence of events that the status has to show; it ends when all is well again."""

    def __init__(self, board: Callboard, fleet: Fleet, source: Path, progress: Progress) -> None:
        self._board = board
        self._fleet = fleet
        self._source = source
        self._progress = progress
        self.story: list[str] = []
        """The end of each incident, in words."""
        self.kills = 0

    async def run(self) -> None:
        """Run all incidents concurrently, since each is about a different subscriber."""
        await asyncio.gather(self._staging(), self._quarantine(), self._clear_and_takeover(), self._retry())

    async def _staging(self) -> None:
        """A subscriber waits for the golden subscriber's verdict."""
        await self._board.pause(GOLDEN, reason=REASON)
        offset = await self._ship("staged.txt", "for all, one after the other")
        await self._until(STAGED, lambda row: row.state == "staged", "to wait for the golden one")
        self._progress.tell(f"{STAGED} waits for {GOLDEN}, which is paused")
        await self._board.resume(GOLDEN, reason=REASON)
        await self._until(STAGED, lambda row: row.offset >= offset, "to follow the golden one")
        self._end(f"{STAGED} was staged behind {GOLDEN} until that one resumed")

    async def _quarantine(self) -> None:
        """A subscriber quarantines a package, imports others, and takes the fixed version when it comes."""
        await self._ship("poison.txt", "nobody can import this", {REFUSED_BY: QUARANTINING})
        await self._until(QUARANTINING, lambda row: row.held == 1, "to quarantine the poison package")
        self._progress.tell(f"{QUARANTINING} has quarantined a failing package")
        other = await self._ship("behind.txt", "not in the way of anything")
        await self._until(QUARANTINING, lambda row: row.offset >= other, "to import what comes after it")
        await self._ship("poison.txt", "this is better")
        await self._until(QUARANTINING, lambda row: row.held == 0, "to finish its quarantined packages")
        self._end(f"{QUARANTINING} quarantined a poison package, imported others, and then the one that fixed it")

    async def _retry(self) -> None:
        """A subscriber waits long for its next try, until a command has it retry now."""
        down = self._source.with_name(f"{PATIENT}.down")
        down.touch()
        offset = await self._ship("late.txt", "in time", {REFUSED_BY: PATIENT, WHILE: str(down)})
        stuck = await self._until(PATIENT, lambda row: _stuck_at(row, offset), "to fail")
        down.unlink()
        await self._board.retry(PATIENT, offset, reason=REASON)
        await self._until(PATIENT, lambda row: row.offset >= offset, "to continue")
        self._end(f"{PATIENT} retried on command, not {stuck.next_try_s:.0f} s later")

    async def _clear_and_takeover(self) -> None:
        """A subscriber is stuck until the package is cleared; then it dies, and its standby takes over."""
        offset = await self._ship("stuck.txt", "it is in the way of everything", {REFUSED_BY: STUBBORN})
        await self._until(STUBBORN, lambda row: _stuck_at(row, offset), "to be stuck")
        self._progress.tell(f"{STUBBORN} is stuck at offset {offset}")
        result = await self._board.clear(STUBBORN, up_to=offset, reason=REASON)
        await self._until(STUBBORN, lambda row: row.offset >= offset, "to continue")
        self._end(f"{STUBBORN} was stuck until {result.packages} package was cleared")
        (self._source / INCIDENTS / "stuck.txt").unlink()
        await self._fleet.publish([Request("delete", (f"/{INCIDENTS}/stuck.txt",))])
        await self._takeover()

    async def _takeover(self) -> None:
        standby = self._fleet.stand_by(STUBBORN)
        await self._fleet.until(lambda: standby.incarnation("announcer") > 0, WAIT_S, "a standby to be ready")
        before = await self._until(STUBBORN, lambda row: row.liveness == "live", "to be live")
        self._fleet.kill_for_good(STUBBORN)
        killed_s = time.monotonic()
        self.kills += 1
        self._progress.tell(f"kill -9 of the whole subscriber {STUBBORN}, which has a standby")
        await self._until(STUBBORN, lambda row: row.liveness == "live" and row.pid != before.pid, "to be replaced")
        offset = await self._ship("after.txt", "to be imported by the standby")
        await self._until(STUBBORN, lambda row: row.offset >= offset, "to continue")
        self._end(f"the standby took over {STUBBORN} within {time.monotonic() - killed_s:.0f} s of its kill -9")

    # Shared steps.

    async def _ship(self, name: str, text: str, metadata: dict[str, str] | None = None) -> int:
        """Write a file and publish it; returns the package's offset."""
        (self._source / INCIDENTS / name).write_text(f"{text}\n")
        request = Request("add", (f"/{INCIDENTS}/{name}",), metadata=tuple((metadata or {}).items()))
        (offset,) = await self._fleet.publish([request])
        return offset

    async def _until(self, name: str, condition: Callable[[SubscriberStatus], bool], what: str) -> SubscriberStatus:
        """Wait for the condition; returns the subscriber's status then."""
        seen: list[SubscriberStatus] = []

        def fulfilled() -> bool:
            row = self._progress.row(name)
            if row is not None and condition(row):
                seen.append(row)
            return bool(seen)

        await self._fleet.until(fulfilled, WAIT_S, f"{name} {what}")
        return seen[0]

    def _end(self, what: str) -> None:
        self._progress.tell(what)
        self.story.append(what)


def _stuck_at(row: SubscriberStatus, offset: int) -> bool:
    return row.head_offset == offset and row.attempts > 0 and row.state in ("retrying", "blocked")
