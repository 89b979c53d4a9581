"""The history of a cluster: what each record changed, in words and as data."""

from dataclasses import dataclass

from callboard.actors.topology.lease_clock import ticked
from callboard.actors.topology.reducer import NS_PER_MS
from callboard.board.topology.reading import Step
from callboard.board.topology.wording import because, command, evidence, named, shortened
from callboard.messages.event import replaced
from callboard.messages.reading import Unread
from callboard.messages.topology.cluster_state import ClusterState
from callboard.messages.topology.control_messages import (
    AdminMessage,
    DrainCommand,
    EvictCommand,
    JoinMessage,
    LeaveMessage,
    ProposeMessage,
    TransferCommand,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterChange:
    """A change of a cluster, made by the record at ``offset``.

    ``kind`` is one of founded, configured, joined, restarted, left, evicted, drained, undrained, transferred, frozen,
    unfrozen, settled, degraded, too_new. ``made_view``: it made the view ``epoch``, with these ``members`` in their
    order and this ``leader``, empty for none. ``targets`` are the members that it is about, ``by`` is the instance that
    wrote it, and ``author`` that of a command. ``what`` says it in words.
    """

    offset: int
    time_ns: int
    kind: str
    epoch: int
    made_view: bool
    leader: str
    leader_changed: bool
    members: tuple[str, ...]
    targets: tuple[str, ...]
    by: str
    author: str
    reason: str
    what: str


def change_of(step: Step) -> ClusterChange | None:
    """What the step changed of the cluster, its view, or whether that is settled; None if nothing."""
    before, after, event = step.before, step.after, step.event
    if before.stopped < 0 <= after.stopped:
        return _change(step, "too_new", "a record that is too new for this version: upgrade to know more")
    kind, targets, what = "", tuple[str, ...](), ""
    if step.verdict.accepted and not isinstance(event, Unread):
        kind, targets, what = _told(step)
        what += _leader_now(before, after)
    if before.view.settled != after.view.settled and before.view.epoch == after.view.epoch:
        missing = tuple([each.instance for each in after.members if each.acked != after.view.epoch])
        kind, targets = kind or ("degraded" if missing else "settled"), targets or missing
        what = f"{what}; {_settled(after, missing)}" if what else _settled(after, missing)
    return _change(step, kind, what, targets) if kind else None


def judged(step: Step) -> ClusterState:
    """The state before the step, with the clock as it is at its record: what evidence is judged by."""
    before = step.before
    return replaced(before, clock=ticked(before.clock, before.settings, step.record.time_ns // NS_PER_MS))


def _told(step: Step) -> tuple[str, tuple[str, ...], str]:
    """The kind of change, whom it is about, and the words for it."""
    event, before = step.event, step.before
    if isinstance(event, JoinMessage):
        restarted = before.member(event.instance) is not None
        again = " again" * any(each.instance == event.instance for each in before.gone)
        what = "restarted, and is the last in the order" if restarted else f"joined{again}"
        return "restarted" if restarted else "joined", (event.instance,), f"{event.instance} {what}"
    if isinstance(event, LeaveMessage):
        return "left", (event.instance,), f"{event.instance} left{because(event.reason)}"
    if isinstance(event, ProposeMessage):
        state = judged(step)
        told = [f"{each.instance} {evidence(state, each, event.evidence)}" for each in step.departed]
        return "evicted", event.remove, f"evicted by {event.instance}: {named(told)}{because(event.reason)}"
    if isinstance(event, AdminMessage):
        kind, target = _command_kind(event, before)
        by = shortened(event.author) or event.instance
        what = f"command of {by}: {command(event, before.settings)}"
        what = f"{by} founded the cluster" if kind == "founded" else what
        return kind, (target,) if target else (), what + because(event.reason)
    return "", (), ""


def _command_kind(event: AdminMessage, before: ClusterState) -> tuple[str, str]:
    match event.commands[0]:
        case EvictCommand(target=target):
            return "evicted", target
        case DrainCommand(target=target, draining=draining):
            return "drained" if draining else "undrained", target
        case TransferCommand(target=target):
            return "transferred", target
    if event.freeze is not None:
        return "frozen" if event.freeze.frozen else "unfrozen", ""
    return "configured" if before.settings else "founded", ""


def _settled(after: ClusterState, missing: tuple[str, ...]) -> str:
    took = f"view {after.view.epoch} settled after {(after.clock.now_ms - after.view.epoch_ms) / 1e3:.1f} s"
    return f"{took}, without {named(missing)}" if missing else took


def _leader_now(before: ClusterState, after: ClusterState) -> str:
    if before.view.leader_epoch == after.view.leader_epoch and before.view.leader == after.view.leader:
        return ""
    return f"; {after.view.leader} leads now" if after.view.leader else "; no member is left"


def _change(step: Step, kind: str, what: str, targets: tuple[str, ...] = ()) -> ClusterChange:
    before, view = step.before.view, step.after.view
    author, reason = getattr(step.event, "author", ""), getattr(step.event, "reason", "")
    return ClusterChange(
        offset=step.record.offset,
        time_ns=step.record.time_ns,
        kind=kind,
        epoch=view.epoch,
        made_view=view.epoch == step.record.offset,
        leader=view.leader,
        leader_changed=(before.leader, before.leader_epoch) != (view.leader, view.leader_epoch),
        members=tuple([member.instance for member in step.after.members]),
        targets=targets,
        by=getattr(step.event, "instance", ""),
        author=author,
        reason=reason,
        what=what,
    )
