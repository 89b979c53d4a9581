"""When the timers of a service are due, and on which members they run: pure, over times in milliseconds."""

from dataclasses import dataclass, replace
from hashlib import sha256

from callboard.actors.jobs.schedules.ticks import tick_after
from callboard.board.member.topology_view import TopologyView
from callboard.messages.jobs.job_messages import ScheduleMessage

RunOn = str | tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Timer:
    """A timer: next due at ``due_ms``, then by its rule, if it has one; ``left`` is how often, -1 for ever."""

    rule: ScheduleMessage
    due_ms: int
    base_ms: int
    left: int = -1
    concurrent: bool = False
    run_on: RunOn = "all"

    def after(self, now_ms: int) -> "Timer | None":
        """The timer after it was due now; None if that was the last time."""
        repeats = (self.rule.cron or self.rule.every_ms) and self.left != 1
        next_ms = tick_after(self.rule, self.base_ms, now_ms) if repeats else None
        return None if next_ms is None else replace(self, due_ms=next_ms, left=self.left - (self.left > 0))

    def seen(self, now_ms: int) -> "Timer":
        """The same, unless the clock was set back by more than its period: then it counts from now on."""
        every_ms = self.rule.every_ms
        if every_ms and self.base_ms < self.due_ms and self.due_ms - now_ms > every_ms:
            return replace(self, due_ms=now_ms + every_ms, base_ms=now_ms)
        return self


class TimerPlan:
    """The timers by name."""

    def __init__(self) -> None:
        self.timers: dict[str, Timer] = {}

    @property
    def next_ms(self) -> int | None:
        """When the next one is due."""
        return min((each.due_ms for each in self.timers.values()), default=None)

    def due(self, now_ms: int) -> list[tuple[str, Timer]]:
        """Those that are due now, each once however late; the times that passed since then are left out."""
        self.timers = {name: each.seen(now_ms) for name, each in self.timers.items()}
        due = sorted(((name, its) for name, its in self.timers.items() if its.due_ms <= now_ms), key=_due_ms)
        for name, its in due:
            if (after := its.after(now_ms)) is None:
                del self.timers[name]
            else:
                self.timers[name] = after
        return due


def _due_ms(named: tuple[str, Timer]) -> int:
    return named[1].due_ms


def runs_here(run_on: RunOn, name: str, view: TopologyView | None) -> bool:
    """Whether a timer runs on the local instance; "leader" and "single" run nowhere while the view changes."""
    if run_on == "all":
        return True
    if view is None:
        return False
    own = view.local_instance
    if isinstance(run_on, tuple):
        return own.instance in run_on
    if run_on == "leader":
        return view.leader is not None and view.leader.is_local
    return view.is_current and view.epoch >= 0 and own.instance == chosen(name, view)


def chosen(name: str, view: TopologyView) -> str:
    """The one instance of the local cluster for this name; it stays the same until that instance leaves, or a new one
    takes its share of all names.
    """
    instances = (each.instance for each in view.local_cluster.instances)
    return max(instances, key=lambda instance: sha256(f"{name}\n{instance}".encode()).digest())
