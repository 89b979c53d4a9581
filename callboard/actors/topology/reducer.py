"""The fold over the control topic: all readers of the same records compute the same state of the cluster.

It has no clock, no randomness and no configuration: settings are records, and time is append time.
"""

from collections.abc import Callable
from typing import Any

from callboard.actors.topology.administration import administer
from callboard.actors.topology.joining import join, leave
from callboard.actors.topology.lease_clock import ticked
from callboard.actors.topology.proposing import propose
from callboard.actors.topology.reporting import ack, lead, proceeded, properties, suspect
from callboard.actors.topology.verdict import Reason, Refused, Ruling, Verdict
from callboard.messages.event import replaced
from callboard.messages.reading import Problem, Unread
from callboard.messages.record import Record
from callboard.messages.topology.cluster_state import ClusterMember, ClusterState, LogClock
from callboard.messages.topology.control_messages import (
    AckMessage,
    AdminMessage,
    JoinMessage,
    LeaderMessage,
    LeaveMessage,
    PropertiesMessage,
    ProposeMessage,
    RenewMessage,
    SnapshotMessage,
    SuspectMessage,
)
from callboard.messages.topology.member_event import MemberEvent
from callboard.messages.topology.reading import read
from callboard.messages.topology.state_hash import state_hash

NS_PER_MS = 1_000_000


def fold(state: ClusterState, record: Record) -> tuple[ClusterState, Verdict]:
    """The state after the record, and the verdict on it. Never raises, not even for garbage."""
    return step(state, record.offset, record.time_ns // NS_PER_MS, read(record))


def step(state: ClusterState, offset: int, time_ms: int, event: MemberEvent | Unread) -> tuple[ClusterState, Verdict]:
    """Like ``fold``, for a decoded record: its offset, append time and message."""
    if state.stopped >= 0:
        return state, _verdict(state, offset, Reason.STOPPED, f"the record at {state.stopped} is too new; upgrade")
    if offset <= state.offset:
        return state, _verdict(
            state, offset, Reason.REPLAYED, f"records up to offset {state.offset} were applied before"
        )
    if isinstance(event, Unread) and event.problem is Problem.TOO_NEW:
        return replaced(state, stopped=offset), _verdict(state, offset, Reason.TOO_NEW, event.detail)
    heard, refused = _heard(state, offset, ticked(state.clock, state.settings, time_ms), event)
    ruling = refused or _judged(state, heard, event)
    after = heard if isinstance(ruling, Refused) else ruling
    if after.view.settled != after.view.epoch:
        after = proceeded(after)
    reason, detail = ruling if isinstance(ruling, Refused) else (Reason.ACCEPTED, "")
    return after, _verdict(after, offset, reason, detail)


def _heard(
    state: ClusterState, offset: int, clock: LogClock, event: MemberEvent | Unread
) -> tuple[ClusterState, Refused | None]:
    """The state with the clock advanced and the sender's lease renewed, before any rule applies; and the refusal, if
    this is not a new message of a member.
    """
    members, refused = state.members, None
    if isinstance(event, Unread):
        refused = Refused(Reason(event.problem.value), event.detail)
    elif (place := state.index_of(event.instance)) < 0 or members[place].incarnation != event.incarnation:
        if not isinstance(event, JoinMessage | AdminMessage):
            refused = _stranger(event, members[place] if place >= 0 else None)
    elif event.seq <= (sent := members[place].seq):
        refused = Refused(Reason.DUPLICATE, f"{event.instance} has sent message {sent}, and this is {event.seq}")
    else:
        members = (*members[:place], renewed(members[place], event, clock.now_ms), *members[place + 1 :])
    return replaced(state, offset=offset, clock=clock, members=members), refused


def renewed(member: ClusterMember, event: MemberEvent, now_ms: int) -> ClusterMember:
    """The member after this message, appended at ``now_ms`` on the lease clock."""
    heard_ms = max(now_ms, member.heard_ms)
    if isinstance(event, RenewMessage):
        return replaced(
            member, seq=event.seq, heard_ms=heard_ms, read_to=event.read_to, health=event.health,
            load_permille=event.load_permille,
        )  # fmt: skip
    return replaced(member, seq=event.seq, heard_ms=heard_ms)


def _stranger(event: MemberEvent, live: ClusterMember | None) -> Refused:
    """The refusal of a message from a non-member. ``live`` is the member with the same instance id."""
    its = f"{event.instance} in incarnation {event.incarnation}"
    if live is not None:
        return Refused(Reason.OTHER_INCARNATION, f"{its} is not a member, {live.incarnation} is")
    return Refused(Reason.NOT_A_MEMBER, f"{its} is not a member; join first")


def _judged(before: ClusterState, heard: ClusterState, event: MemberEvent | Unread) -> Ruling:
    """The ruling of the message's rule."""
    assert not isinstance(event, Unread), "unread records are refused earlier"
    if isinstance(event, SnapshotMessage):
        return _snapshot(before, heard, event)
    if heard.settings is None and not (isinstance(event, AdminMessage) and event.configure):
        return Refused(Reason.NOT_FOUNDED, "the cluster has no settings yet; configure it first")
    return RULES[type(event)](heard, event)


def _snapshot(before: ClusterState, heard: ClusterState, event: SnapshotMessage) -> Ruling:
    """Accept a snapshot only if it holds the state after the record right before it: then every reader can verify it,
    and a reader that starts from it misses nothing.
    """
    if event.state.offset != before.offset:
        held = f"it holds the state after offset {event.state.offset}"
        return Refused(Reason.OUTDATED, f"{held}, but the record before it is at {before.offset}; take another")
    if state_hash(before) != event.state_hash:
        return Refused(Reason.DIVERGED, f"{event.instance} computed a different state; stop it and report a bug")
    return replaced(heard, snapshot=heard.offset)


def _verdict(state: ClusterState, offset: int, reason: Reason, detail: str) -> Verdict:
    return Verdict(offset, reason, detail, state.view.epoch, state.view.settled)


RULES: dict[type[MemberEvent], Callable[[ClusterState, Any], Ruling]] = {
    JoinMessage: join,
    RenewMessage: lambda state, _: state,
    PropertiesMessage: properties,
    LeaveMessage: leave,
    ProposeMessage: propose,
    AckMessage: ack,
    SuspectMessage: suspect,
    LeaderMessage: lead,
    AdminMessage: administer,
}
"""The rule for each message. It gets the state with the clock advanced, so ``state.offset`` is the record's own."""
