"""The schedules that are set."""

from collections.abc import Iterator
from typing import NamedTuple

from callboard.messages.jobs.job_messages import ScheduleMessage


class Schedule(NamedTuple):
    """A schedule as it was set. Its next tick is the first one after ``base_ms``: its last tick, ``last_ms`` (0 if it
    has had none), or the time when it was set or resumed, by the record at the offset ``set_at``.
    """

    message: ScheduleMessage
    suspended: bool
    base_ms: int
    last_ms: int = 0
    set_at: int = -1


class Schedules:
    """Schedules by name. ``changed`` has the names of those that have changed since a ``Ticker`` looked."""

    def __init__(self) -> None:
        self.changed: set[str] = set()
        self._by_name: dict[str, Schedule] = {}

    def __len__(self) -> int:
        return len(self._by_name)

    def __iter__(self) -> Iterator[Schedule]:
        return iter(self._by_name.values())

    def get(self, name: str) -> Schedule | None:
        """The schedule of this name."""
        return self._by_name.get(name)

    def put(self, schedule: Schedule) -> None:
        """Add the schedule, or replace the one of its name."""
        self._by_name[schedule.message.name] = schedule
        self.changed.add(schedule.message.name)

    def remove(self, name: str) -> None:
        """Remove the schedule."""
        self._by_name.pop(name, None)
        self.changed.discard(name)
