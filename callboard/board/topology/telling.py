"""A cluster in sentences, for people."""

from collections.abc import Iterator

from callboard.board.topology.commands import ClusterCommandResult
from callboard.board.topology.explaining import ViewExplanation
from callboard.board.topology.view import ClusterReport, MemberReport
from callboard.board.topology.wording import named
from callboard.units import age, count


def summary(found: ClusterReport) -> str:  # noqa: PLR0911 - one line a condition
    """The cluster in a line."""
    view, members = f"cluster {found.cluster_id}: view {found.epoch}", count(len(found.members), "member")
    waiting = named(found.waiting_for)
    match found.condition:
        case "none":
            return "no cluster yet: no member has ever started on this log"
        case "unknown":
            return f"the cluster is unknown: {found.topic} was trimmed and has no snapshot; restart its members"
        case "empty":
            return f"cluster {found.cluster_id} has no members now; see `callboard topology history`"
        case "unsettled":
            deadline = f"{found.settings['ack_deadline_ms'] / 1e3:.1f} s"
            waits = f"waits for {waiting} since {found.unsettled_s:.1f} s, and the deadline is {deadline}"
            return f"{view}, {members}, is not settled: it {waits}; {found.leader} is to lead"
        case "degraded":
            return f"{view}, {members}, is settled, but without {waiting}; {found.leader} leads"
        case "too_new":
            return f"{view}, {members}: this is older than a record that this version cannot read; upgrade callboard"
    return f"{view}, {members}, is settled; {found.leader} leads"


def member_words(member: MemberReport) -> tuple[str, ...]:
    """What is to be known of a member: that it leads, and what is not as it should be."""
    words = {
        "leader": member.is_leader,
        "draining": member.draining,
        "not acknowledged": not member.acknowledged,
        f"suspected by {named(member.suspected_by)}": bool(member.suspected_by),
        f"health {member.health}": member.health != "good",
    }
    return tuple(word for word, true in words.items() if true)


def explained_lines(found: ViewExplanation, now_ns: int) -> Iterator[str]:
    """Why a view was made, and how it was settled."""
    change = found.change
    ago = age((now_ns - change.time_ns) / 1e9)
    yield f"view {change.epoch} was made {ago} ago, by the {found.record} of {change.by}: {change.what}"
    yield f"members: {named(change.members) or 'none'}; leader: {change.leader or 'none'}; view before: " + (
        str(found.previous_epoch) if found.previous_epoch >= 0 else "none"
    )
    for each in found.departures:
        last = "is no longer on the log"
        if each.last is not None:
            before = (change.time_ns - each.last.time_ns) / 1e9
            last = f"was the {each.last.type} at offset {each.last.offset}, {age(before)} before"
        yield f"evidence: {each.why}; its last record {last}"
    for ack in found.acknowledgements:
        yield f"acknowledged by {ack.instance} after {ack.after_s:.1f} s, at offset {ack.offset}"
    missing, took = named(found.waiting_for), f"after {found.barrier_s:.1f} s"
    match found.outcome:
        case "settled":
            yield f"settled {took}"
        case "degraded":
            yield f"counts as settled {took}, without {missing}"
        case "superseded":
            yield f"superseded by view {found.next_epoch} {took}" + (
                f", before {missing} acknowledged it" * bool(missing)
            )
        case "waiting":
            yield f"not settled yet: it waits for {missing}" if change.members else "no member is left to settle it"


def told(result: ClusterCommandResult) -> str:
    """What became of a command, in a line."""
    if result.accepted is None:
        return result.detail
    if not result.accepted:
        return f"refused: {result.detail}; look at `callboard topology`, and repeat the command if it is still right"
    return f"done at offset {result.offset}: {result.command}; view {result.epoch}, leader {result.leader or 'none'}"
