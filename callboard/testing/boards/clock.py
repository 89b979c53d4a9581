"""The time on a board in memory."""

from datetime import UTC, datetime

from callboard.testing.boards.driven import Drive
from callboard.testing.durations import in_seconds

DAYS_MAX = 7
"""In one step: an hour of a few agents takes about a second."""


class Clock:
    """Shows the time of this machine, and what ``advance`` has added to it.

    It dates all that is appended, and decides what is due: jobs, schedules, the deadlines of processes, retries,
    announcements, leases, and the timers of actors that the service wrote. Other waits take as long as ever, such as
    ``timeout_s``, ``asyncio.sleep``, hooks, the functions of jobs, and ``board.jobs.timers``.
    """

    def __init__(self, drive: Drive) -> None:
        self._drive = drive

    @property
    def now(self) -> datetime:
        """What it shows, in UTC."""
        return datetime.fromtimestamp(self._drive.now_ns() / 1e9, UTC)

    async def advance(
        self, seconds: float = 0.0, *, minutes: float = 0.0, hours: float = 0.0, days: float = 0.0
    ) -> None:
        """Let this time pass, from one timer of an agent to the next. When it returns, each has done what it had to do,
        up to calls of functions of the service, which may still be running.

        Raises ``RequestRefused`` for a negative time, and for more than ``DAYS_MAX``.
        """
        await self._drive.advance(in_seconds(DAYS_MAX, seconds=seconds, minutes=minutes, hours=hours, days=days))
