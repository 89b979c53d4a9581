"""What must hold for the ticks of schedules."""

from collections.abc import Iterable

from callboard.actors.jobs.schedules.schedules import Schedule
from callboard.testing.simulation.jobs.plan import CRON_MS, JobsPlan
from callboard.testing.simulation.topology.broken_rule import must

LATE_MS = 2000


def _next_ms(its: Schedule) -> int:
    """The tick after the last one."""
    if its.message.every_ms:
        return its.base_ms + its.message.every_ms
    return its.message.at_ms or its.base_ms - its.base_ms % CRON_MS + CRON_MS


def check_tick(its: Schedule, tick_ms: int, now_ms: int, plan: JobsPlan) -> None:
    """The schedule has a tick, of which the log knows now."""
    each_ms, many, next_ms = its.message.every_ms or CRON_MS, its.message.catch_up, _next_ms(its)
    right = tick_ms == next_ms if its.message.at_ms else (tick_ms - next_ms) % each_ms == 0
    must(right or not plan.is_whole, "ticks are where the schedule says", (tick_ms, its))
    if plan.is_punctual:
        must(tick_ms <= now_ms, "no tick comes early", (tick_ms, its))
        missed = tick_ms + (max(1, many) - 1) * each_ms <= now_ms
        right = tick_ms == next_ms or missed or not plan.is_whole
        must(right, "a tick is missed only if it need not be made up for", (tick_ms, its))


def check_schedules(schedules: Iterable[Schedule], now_ms: int, plan: JobsPlan) -> None:
    """None has stopped; those with a single tick that has come are gone."""
    for its in schedules:
        late_ms = now_ms - _next_ms(its)
        must(late_ms < LATE_MS or not plan.is_punctual, "schedules tick", (its, late_ms))
