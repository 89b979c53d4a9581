"""Which jobs schedules add now."""

from heapq import heappop, heappush
from itertools import islice

from callboard.actors.jobs.jobs import Jobs
from callboard.actors.jobs.schedules.schedules import Schedule
from callboard.actors.jobs.schedules.ticks import latest_ticks, tick_after
from callboard.messages.jobs.job_messages import JobsAddedMessage

TICKS_MAX = 500
BYTES_MAX = 1 << 20
"""Ticks, and bytes of payloads, that are appended together: what is ready to be leased meanwhile does not wait long."""

LOOKS_MAX = 500
"""Schedules whose next tick is found at a time: each takes about a tenth of a millisecond."""

ON_TIME_MS = 60_000
"""A tick that is not made up for still counts if it is this late: another dispatcher takes over in less."""


class Ticker:
    """Finds the ticks that are due. Those it has found are due again, unless the log has them, after ``end``."""

    def __init__(self, jobs: Jobs) -> None:
        self._jobs = jobs
        self._due_ms: dict[str, int] = {}
        self._queue: list[tuple[int, str]] = []
        self._found: set[str] = set()
        self.problems: list[tuple[str, str]] = []
        """Schedules that have no ticks because something is unknown here, and what it is."""

    @property
    def next_ms(self) -> int | None:
        """When the next tick is due; 0 if that is unknown, and ``due`` is to be called again at once."""
        return self._next_ms() if self._jobs.schedules.changed <= self._found else 0

    def _next_ms(self) -> int | None:
        while self._queue and self._due_ms.get(self._queue[0][1]) != self._queue[0][0]:
            heappop(self._queue)
        return self._queue[0][0] if self._queue else None

    def due(self, now_ms: int, creator: str) -> tuple[JobsAddedMessage, ...]:
        """The jobs to add by now: for each schedule those of the ticks since its last one, by its policy."""
        self._look()
        found, nbytes = list[JobsAddedMessage](), 0
        while len(found) < TICKS_MAX and nbytes < BYTES_MAX and (due_ms := self._next_ms()) and due_ms <= now_ms:
            name = heappop(self._queue)[1]
            del self._due_ms[name]
            if (its := self._jobs.schedules.get(name)) is None:
                continue
            ticks = _ticks(its, now_ms)
            if not ticks:  # too late for the last one
                self._wait(its, now_ms)
                continue
            self._found.add(name)
            size = len(its.message.payload)
            for tick_ms in ticks[: max(1, min(TICKS_MAX - len(found), (BYTES_MAX - nbytes) // max(1, size)))]:
                found.append(_added(its, tick_ms, creator))
                nbytes += size
        return tuple(found)

    def end(self) -> None:
        """What was found is on the log, and was read, or will not be."""
        self._jobs.schedules.changed |= {name for name in self._found if self._jobs.schedules.get(name)}
        self._found.clear()

    def _look(self) -> None:
        """Find the next ticks of the schedules that have changed."""
        changed = self._jobs.schedules.changed
        for name in list(islice((each for each in changed if each not in self._found), LOOKS_MAX)):
            changed.discard(name)
            self._due_ms.pop(name, None)
            its = self._jobs.schedules.get(name)
            if its is not None and not its.suspended:
                self._wait(its, its.base_ms)

    def _wait(self, its: Schedule, moment_ms: int) -> None:
        """Wait for the first tick after the moment."""
        name = its.message.name
        try:
            due_ms = tick_after(its.message, its.base_ms, moment_ms)
        except ValueError as error:
            self.problems.append((name, str(error)))
            return
        if due_ms is not None:
            self._due_ms[name] = due_ms
            heappush(self._queue, (due_ms, name))


def _ticks(its: Schedule, now_ms: int) -> tuple[int, ...]:
    """The ticks to add jobs for."""
    said = its.message
    if said.catch_up or said.at_ms:
        return latest_ticks(said, its.base_ms, its.base_ms, now_ms, max(1, said.catch_up))
    return latest_ticks(said, its.base_ms, max(its.base_ms, now_ms - ON_TIME_MS), now_ms, 1)


def _added(its: Schedule, tick_ms: int, creator: str) -> JobsAddedMessage:
    said = its.message
    return JobsAddedMessage(
        request="", creator=creator, topics=(said.topic,), topic_of=(0,), payloads=(said.payload,),
        options=(said.options,) if said.options else (), schedule=said.name, tick_ms=tick_ms,
        schedule_set=its.set_at,
    )  # fmt: skip
