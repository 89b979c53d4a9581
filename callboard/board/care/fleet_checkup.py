"""The health of an open board: its topics, the newest records, and the positions of its subscribers."""

from collections.abc import AsyncIterator, Mapping
from dataclasses import astuple, dataclass, replace
from shlex import quote

from callboard.backends.examination import CLOCK_SKEW_MAX_S, Clock, Finding, advice, ok, problem
from callboard.backends.log import Retention
from callboard.backends.logs.limits import record_bytes
from callboard.backends.logs.walk import newest
from callboard.board.context import BoardContext
from callboard.board.read.log.log_records import in_a_line, opened
from callboard.board.read.questions import status as status_of
from callboard.board.read.status.retention_forecast import as_reader, lag_s
from callboard.board.views import SubscriberStatus, Trouble, shown_state
from callboard.errors import OffsetOutOfRange, TopicMissing
from callboard.messages.topics import broadcast_topic, control_topic, job_topic, listener_topic
from callboard.messages.untrusted import UNTRUSTED

SOON = 0.5
"""A subscriber whose lag reaches this share of the retention is about to lose packages."""

NEWEST = 200
"""Records decoded at the end of each topic: undecodable older ones were reported when a reader met them."""


@dataclass(frozen=True, slots=True)
class TopicView:
    """The extent of a topic."""

    topic: str
    first: int
    end: int
    identity: str


async def examine_topics(board: BoardContext, clock: Clock) -> tuple[list[TopicView], list[Finding]]:
    """Examine every topic, and whether its newest records decode."""
    views, found = list[TopicView](), list[Finding]()
    others = [name(board.settings.prefix) for name in (control_topic, job_topic, broadcast_topic, listener_topic)]
    for topic in (*astuple(board.topics), *others):
        try:
            first, end = await board.log.bounds(topic)
            views.append(TopicView(topic, first, end, await board.log.identity(topic)))
            found += [finding async for finding in _newest(board, topic, clock)]
        except TopicMissing:
            if topic in others:
                continue  # there is no cluster, no job, or no event
            what = f"the log has no topic {topic}"
            found.append(problem(what, "run `callboard init`, or start any publisher or subscriber, which creates it"))
        except OffsetOutOfRange:
            continue  # trimmed while it was looked at
    return views, found


async def _newest(board: BoardContext, topic: str, clock: Clock) -> AsyncIterator[Finding]:
    """Check that the newest records decode and are not dated in the future, by the clock of their writer."""
    newest_ns = 0
    async for each in newest(board.log, topic, NEWEST):
        record, newest_ns = in_a_line(each, opened(each)), max(newest_ns, each.time_ns)
        if record.problem and record.type != UNTRUSTED:
            yield problem(
                f"record {record.offset} of topic {topic} cannot be decoded: {record.problem}",
                f"see `callboard log show {record.offset} --topic {topic.rpartition('.')[2]}`; upgrade callboard if it "
                "was written by a newer one",
            )
    if (ahead_s := (newest_ns - clock()) / 1e9) > CLOCK_SKEW_MAX_S:
        yield problem(
            f"the newest record of topic {topic} is {ahead_s:.1f} s in the future",
            "synchronise the clocks of this host and of those that append: timedatectl set-ntp true",
        )


async def examine_fleet(
    board: BoardContext, configured: Retention | None, kept: Mapping[str, Retention]
) -> list[Finding]:
    """Examine where every subscriber is, what it reports, and how long until the log loses what it still needs.

    Args:
        board: open.
        configured: the retention that publishers apply.
        kept: the retention that the log's server itself applies, by topic.
    """
    status = await status_of(board)
    found = [
        _finding(name, trouble)
        for name, its in [
            *((f"{row.name} ({shown_state(row)})", row.troubles) for row in status.subscribers),
            *((f"publisher {row.name}", row.troubles) for row in status.publishers),
        ]
        for trouble in its
    ]
    if status.problem:
        found.append(problem(status.problem, "see `callboard log list`"))
    present = [as_reader(row) for row in status.subscribers if row.liveness != "gone"]
    topic = board.topics.package
    first, end = await board.log.bounds(topic)
    behind = sorted((row for row in present if 0 <= row.offset < end - 1), key=lambda row: row.offset)
    if behind and behind[0].offset + 1 >= first:
        slowest = replace(behind[0], lag_s=await lag_s(board.log, topic, behind[0], first, board.now_ns()))
        for retention in (configured, kept.get(topic)):
            if retention is not None:
                found += await _left(board, slowest, retention)
    late = sum(row.lag_packages != 0 or row.uncounted > 0 for row in present)  # -1: on another log, or not known yet
    return [*found, ok(f"subscribers: {len(present)}, of which {late} behind")]


def _finding(name: str, trouble: Trouble) -> Finding:
    """A finding for this trouble; one that ends by itself is only information."""
    fix = "; ".join(f"`{remedy.command}` {remedy.does}" for remedy in trouble.remedies)
    what = f"{name}: {trouble.what}"
    return problem(what, fix) if trouble.needs else advice(what, fix)


async def _left(board: BoardContext, slowest: SubscriberStatus, retention: Retention) -> list[Finding]:
    """How long, and how many bytes, until the slowest subscriber's next package is removed."""
    at = f"the slowest, {slowest.name}, is at offset {slowest.offset}, {slowest.lag_packages} packages behind"
    fix = f"see `callboard queue {quote(slowest.name)}` for what holds it up, or raise "
    found = []
    if (kept_s := retention.older_than_s) is not None:
        left_s = max(0.0, kept_s - slowest.lag_s)
        what = f"{at}: its next package is removed in {left_s / 3600:.1f} h"
        soon = slowest.lag_s > SOON * kept_s
        found.append(problem(what, f"{fix}retention.older_than_days (retention.ms)") if soon else ok(what))
    if (kept_bytes := retention.above_bytes) is not None:
        waiting = await _bytes_from(board, slowest.offset + 1, kept_bytes)
        what = f"{at}: its next package is removed after {max(0, kept_bytes - waiting) / 1e6:.1f} MB more"
        soon = waiting > SOON * kept_bytes
        found.append(problem(what, f"{fix}retention.above_mb (retention.bytes)") if soon else ok(what))
    return found


async def _bytes_from(board: BoardContext, start: int, limit: int) -> int:
    """The size of the packages from ``start`` on; stops counting at the limit."""
    total = 0
    while total < limit and (found := await board.log.read(board.topics.package, start)):
        total, start = total + sum(map(record_bytes, found)), found[-1].offset + 1
    return total
