"""The health of a cluster, for ``callboard doctor``."""

from collections import Counter
from collections.abc import Iterator, Mapping
from functools import partial

from callboard.actors.topology.proposing import overdue
from callboard.actors.topology.verdict import Reason
from callboard.backends.examination import CLOCK_SKEW_MAX_S, Finding, advice, ok, problem
from callboard.board.context import BoardContext
from callboard.board.topology.opening import opened
from callboard.board.topology.reading import RECENT_RECORDS, Reading, newest_start
from callboard.board.topology.view import ClusterReport, report
from callboard.board.topology.wording import named
from callboard.messages.topology.cluster_state import ClusterState

RECENT_NS = 3600 * 10**9
FLAPS_MIN = 3
"""An instance that joined so often within the last hour does not run well: a deployment restarts it once or twice."""

LAG_SHARE = 0.3
"""Share of the lease by which a member may lag: by this margin it stops acting as a member before its lease ends."""

REMEDIES = {
    Reason.DUPLICATE_ID: "stop one of them, or give it an instance id of its own: a copied folder has the same id",
    Reason.DIVERGED: "stop that member, and report a bug",
    Reason.OVER_BUDGET: "find out why these members are silent; then evict them by `callboard topology evict`",
    Reason.INCOMPATIBLE: "upgrade that member",
}
"""Refusals that an operator should act on."""


async def examine_cluster(board: BoardContext) -> list[Finding]:
    """Examine the cluster, and its newest records; nothing if there is no cluster."""
    reading = await opened(board, partial(newest_start, recent=RECENT_RECORDS))
    if reading is None:
        return []
    await reading.catch_up()
    now_ns = board.now_ns()
    found = report(reading, now_ns)
    if found.condition == "none":
        return []
    told = advice if found.condition in ("settled", "degraded", "unsettled", "empty") else problem
    notes = [told(note, "see `callboard topology`") for note in found.notes]
    if found.condition == "unknown":
        notes.append(problem(f"{found.topic} was trimmed and has no snapshot", "restart the members of the cluster"))
    summary = ok(f"cluster {found.cluster_id}: {len(found.members)} members, {found.condition}")
    return [*notes, *_records(reading, now_ns), *_members(found), *_view(reading.state, found), summary]


def _records(reading: Reading, now_ns: int) -> Iterator[Finding]:
    """What the newest records tell of clocks, ids and restarts."""
    clock = reading.state.clock
    if clock.time_ms - clock.behind_ms > CLOCK_SKEW_MAX_S * 1e3:
        back_s = (clock.time_ms - clock.behind_ms) / 1e3
        what = f"append times went back by {back_s:.1f} s, so the lease clock stands still for up to a lease"
        yield problem(what, "synchronise the clocks of the log's server, and of the hosts that append to it")
    yield from _clocks(reading.behind_s)
    newest = {each.reason: each for each in reading.refusals if now_ns - each.time_ns < RECENT_NS}
    for reason, fix in REMEDIES.items():
        if (refusal := newest.get(reason)) is not None:
            yield problem(f"refused at offset {refusal.offset}: {refusal.detail}", fix)
    joins = Counter(instance for time_ns, instance in reading.joins if now_ns - time_ns < RECENT_NS)
    if flapping := [f"{instance} {count} times" for instance, count in joins.most_common() if count >= FLAPS_MIN]:
        fix = "see `callboard topology history` for why they left, and their logs"
        yield problem(f"instances joined again and again within the last hour: {named(flapping)}", fix)


def _clocks(behind_s: Mapping[str, float]) -> Iterator[Finding]:
    """Members whose clocks differ from those of the others."""
    behind = [name for name, by_s in behind_s.items() if by_s > CLOCK_SKEW_MAX_S]
    others = [name for name in behind_s if name not in behind]
    if behind and not others:
        what = f"clocks of members were set back by {max(behind_s.values()):.1f} s"
        yield advice(what, "see that the clocks of their hosts are synchronised")
    elif behind:
        how, wrong = ("behind", behind) if len(behind) <= len(others) else ("ahead of", others)
        what = f"by {max(behind_s.values()):.1f} s, the clocks of these are {how} those of the other members"
        yield problem(f"{what}: {named(wrong)}", "synchronise the clocks of their hosts")


def _members(found: ClusterReport) -> Iterator[Finding]:
    """Members that lag, or should have been evicted."""
    most_s = LAG_SHARE * found.settings.get("lease_ms", 0) / 1e3
    if lagging := [f"{each.instance} by {each.lag_s:.1f} s" for each in found.members if each.lag_s > most_s]:
        what = f"members lag behind the control topic: {named(lagging)}; beyond {most_s:.1f} s they stop acting"
        yield problem(what, "see what slows down their hosts, or their way to the log")
    if silent := [each.instance for each in found.members if each.lease_left_s <= 0]:
        fix = "if they do not come back: `callboard topology evict`"
        yield problem(f"silent for longer than the lease, but not evicted: {named(silent)}", fix)


def _view(state: ClusterState, found: ClusterReport) -> Iterator[Finding]:
    """A view that should have been settled."""
    if found.condition == "unsettled" and overdue(state):
        what = f"view {found.epoch} is not settled after {found.unsettled_s:.1f} s: {named(found.waiting_for)} did not "
        fix = "restart them, or `callboard topology evict` them"
        yield problem(f"{what}acknowledge it in time, so no one leads", fix)
    elif found.condition == "degraded":
        what = f"view {found.epoch} was settled without {named(found.waiting_for)}, which may still act by a former one"
        yield advice(what, "see their logs")
