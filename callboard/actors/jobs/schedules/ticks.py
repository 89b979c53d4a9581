"""When the ticks of a schedule are: pure functions over times in milliseconds since the epoch.

A cron expression counts in the time of its zone. A time that clocks skip is a tick at the first moment after the gap;
one that they show twice is a tick only the first time. An expression for every hour (``*``) is not about such times:
its ticks go on through both hours.
"""

from bisect import bisect_right
from collections import deque
from collections.abc import Iterator
from datetime import UTC, datetime, tzinfo
from functools import lru_cache
from itertools import islice
from zoneinfo import ZoneInfo

from callboard.messages.jobs.job_messages import ScheduleMessage

MINUTE_MS = 60_000

CACHED = 10_000
"""Results that are kept: schedules that are due together mostly have the same expression."""


def tick_after(its: ScheduleMessage, base_ms: int, moment_ms: int) -> int | None:
    """The first tick after the moment; a number of seconds is counted from ``base_ms``, up to the moment.

    Raises ``ValueError`` for a zone or an expression that is unknown here.
    """
    if its.at_ms:
        return its.at_ms if its.at_ms > moment_ms else None
    if its.every_ms:
        return moment_ms + its.every_ms - (moment_ms - base_ms) % its.every_ms
    zone = zone_of(its.zone)
    ticks = (cron_after(expression, zone, moment_ms) for expression in its.cron)
    return min((tick for tick in ticks if tick is not None), default=None)


def latest_ticks(its: ScheduleMessage, base_ms: int, after_ms: int, until_ms: int, many: int) -> tuple[int, ...]:
    """The last ``many`` ticks after one moment and up to another, in order. Raises as ``tick_after``."""
    first = tuple(islice(_ticks(its, base_ms, after_ms, until_ms), many + 1))
    if len(first) <= many:
        return first
    span_ms = MINUTE_MS
    while True:  # look back twice as far each time: there may be very many, or hardly any
        found = deque(_ticks(its, base_ms, max(after_ms, until_ms - span_ms), until_ms), maxlen=many)
        if len(found) == many:
            return tuple(found)
        span_ms *= 2


def _ticks(its: ScheduleMessage, base_ms: int, after_ms: int, until_ms: int) -> Iterator[int]:
    tick_ms = tick_after(its, base_ms, after_ms)
    while tick_ms is not None and tick_ms <= until_ms:
        yield tick_ms
        tick_ms = tick_after(its, base_ms, tick_ms)


def zone_of(name: str) -> tzinfo:
    """The zone of this name. Raises ``ValueError`` if it is unknown here."""
    if name == "UTC":
        return UTC  # needs no database of zones
    try:
        return ZoneInfo(name)
    except (KeyError, OSError, ValueError) as error:
        raise ValueError(f"the time zone {name!r} is unknown on this machine") from error


@lru_cache(CACHED)
def cron_after(expression: str, zone: tzinfo, moment_ms: int) -> int | None:
    """The first match of the expression after the moment; None if there is none within 50 years.

    Raises ``ValueError`` if it is no cron expression.
    """
    from cronsim import CronSim, CronSimError  # most boards have no schedules

    moment = datetime.fromtimestamp(moment_ms // 1000, zone)
    every_hour = expression.split()[-4:][:1] == ["*"]
    try:
        if every_hour or zone is UTC:
            match = next(CronSim(expression, moment), None)
            return None if match is None else int(match.timestamp()) * 1000
        for local in CronSim(expression, moment.replace(tzinfo=None)):
            if (tick_ms := local_ms(local, zone)) > moment_ms:
                return tick_ms
    except (CronSimError, OverflowError) as error:
        raise ValueError(f"{expression!r} is no cron expression: {error}") from error
    return None


def local_ms(local: datetime, zone: tzinfo) -> int:
    """When clocks in the zone show this time for the first time, or skip it."""
    first, second = local.replace(tzinfo=zone, fold=0), local.replace(tzinfo=zone, fold=1)
    before, after = first.utcoffset(), second.utcoffset()
    assert before is not None
    assert after is not None
    if before >= after:
        return int(first.timestamp() * 1000)
    around = range(int(second.timestamp()), int(first.timestamp()) + 1)
    place = bisect_right(around, before, key=lambda second: datetime.fromtimestamp(second, zone).utcoffset() or before)
    return around[place] * 1000
