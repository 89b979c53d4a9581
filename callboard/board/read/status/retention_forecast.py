"""How long until the retention removes packages that a subscriber has not processed."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from callboard.backends.examination import Clock, ExaminableLog
from callboard.backends.log import Log, Retention
from callboard.backends.logs.limits import record_bytes
from callboard.backends.logs.walk import newest
from callboard.backends.registry import open_log
from callboard.board.connect.settings import BoardSettings
from callboard.board.views import SubscriberStatus
from callboard.errors import CallboardError

NEWEST = 1000
"""Records from which the growth of the log is estimated: a single read, however large the log is."""

SOON = 0.5
"""A subscriber whose lag exceeds this share of the retention is reported."""


@dataclass(frozen=True, slots=True)
class RetentionForecast:
    """The next package of ``subscriber`` will be removed in about ``left_s`` seconds, at the current rate."""

    subscriber: str
    left_s: float
    soon: bool
    """Whether it is time to act."""


@dataclass(frozen=True, slots=True)
class Growth:
    """The average size of the newest records of a topic, and their rate."""

    bytes_each: float
    bytes_per_s: float


async def retention_forecast(
    log: Log, topic: str, rows: Iterable[SubscriberStatus], retention: Retention, now_ns: int
) -> list[RetentionForecast]:
    """Of all subscribers that are behind, the one that will lose packages first."""
    found = []
    first, end = await log.bounds(topic)
    growth = await _growth(log, topic, now_ns) if retention.above_bytes is not None else None
    for row in map(as_reader, rows):
        if row.lag_packages <= 0:
            continue
        left = []
        if retention.older_than_s is not None:
            behind_s = await lag_s(log, topic, row, first, now_ns)
            left.append((retention.older_than_s - behind_s, retention.older_than_s))
        if retention.above_bytes is not None and growth is not None and growth.bytes_per_s:
            waiting = growth.bytes_each * (end - row.offset - 1)  # gaps count too: better too early
            left.append(
                ((retention.above_bytes - waiting) / growth.bytes_per_s, retention.above_bytes / growth.bytes_per_s)
            )
        if left:
            left_s, whole_s = min(left)
            found.append(RetentionForecast(row.name, max(0.0, left_s), left_s < (1 - SOON) * whole_s))
    return sorted(found, key=lambda each: each.left_s)


def as_reader(row: SubscriberStatus) -> SubscriberStatus:
    """The row with its own position: what a relay has relayed is safe at its site."""
    if row.site is None:
        return row
    behind = row.site.behind
    return replace(row, offset=row.site.relayed, lag_packages=behind, lag_s=-1.0 if behind else 0.0)


async def server_retention(settings: BoardSettings, clock: Clock) -> Retention:
    """What the log's server itself removes from the package topic, if it tells; nothing otherwise."""
    log = open_log(settings.log, settings.base)
    try:
        if not isinstance(log, ExaminableLog):
            return Retention()
        examination = await log.examine((settings.topics.package,), clock)
        return examination.kept.get(settings.topics.package, Retention())
    except CallboardError:
        return Retention()  # the board itself can be read; the doctor reports what cannot be told here
    finally:
        await log.close()


def stricter(one: Retention, other: Retention) -> Retention:
    """The retention that keeps only what both keep."""
    ages = [each for each in (one.older_than_s, other.older_than_s) if each is not None]
    sizes = [each for each in (one.above_bytes, other.above_bytes) if each is not None]
    return Retention(older_than_s=min(ages, default=None), above_bytes=min(sizes, default=None))


async def lag_s(log: Log, topic: str, row: SubscriberStatus, first: int, now_ns: int) -> float:
    """The age of the oldest queued package; taken from the log, which begins at ``first``, while it is counted."""
    if row.lag_s >= 0 or not (row.uncounted or row.site):
        return row.lag_s
    found = await log.read(topic, max(row.offset + 1, first), 1)
    return max(0.0, (now_ns - found[0].time_ns) / 1e9) if found else 0.0


async def _growth(log: Log, topic: str, now_ns: int) -> Growth | None:
    found = [record async for record in newest(log, topic, NEWEST)]
    if not found:
        return None
    total = sum(map(record_bytes, found))
    seconds = (now_ns - found[0].time_ns) / 1e9
    return Growth(total / len(found), total / seconds if seconds > 0 else 0.0)
