"""The fold over the control topic: every reader of the same records comes to the same state of the cluster.

It has no clock, no randomness and no configuration. What it must know is in the records, and time is their append time.
"""

from collections.abc import Callable
from typing import Any

from callboard.actors.topology.administration import administer
from callboard.actors.topology.joining import join, leave
from callboard.actors.topology.lease_clock import ticked
from callboard.actors.topology.proposing import propose
from callboard.actors.topology.reporting import ack, proceeded, properties, suspect
from callboard.actors.topology.verdict import Reason, Refused, Ruling, Verdict
from callboard.messages.event import replaced
from callboard.messages.record import Record
from callboard.messages.topology.cluster_state import ClusterMember, ClusterState, LogClock
from callboard.messages.topology.control_messages import (
    AckMessage,
    AdminMessage,
    JoinMessage,
    LeaveMessage,
    PropertiesMessage,
    ProposeMessage,
    RenewMessage,
    SnapshotMessage,
    SuspectMessage,
)
from callboard.messages.topology.member_event import MemberEvent
from callboard.messages.topology.reading import Problem, Unread, read
from callboard.messages.topology.state_hash import state_hash

NS_PER_MS = 1_000_000


def fold(state: ClusterState, record: Record) -> tuple[ClusterState, Verdict]:
    """The state after the record, and what became of it. Never raises, whatever the record holds."""
    return step(state, record.offset, record.time_ns // NS_PER_MS, read(record))


def step(state: ClusterState, offset: int, time_ms: int, event: MemberEvent | Unread) -> tuple[ClusterState, Verdict]:
    """As ``fold``, of a record that was read: its offset, append time and message."""
    if state.stopped >= 0:
        return state, _verdict(state, offset, Reason.STOPPED, f"the record at {state.stopped} is too new; upgrade")
    if offset <= state.offset:
        return state, _verdict(state, offset, Reason.REPLAYED, f"up to offset {state.offset} all was applied before")
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
    """The state at the record, with its sender heard, whatever it says; and why the record does not count, if it is no
    new message of a member.
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
        members = (*members[:place], _renewed(members[place], event, clock.now_ms), *members[place + 1 :])
    return replaced(state, offset=offset, clock=clock, members=members), refused


def _renewed(member: ClusterMember, event: MemberEvent, now_ms: int) -> ClusterMember:
    heard_ms = max(now_ms, member.heard_ms)
    if isinstance(event, RenewMessage):
        return replaced(
            member, seq=event.seq, heard_ms=heard_ms, read_to=event.read_to, health=event.health,
            load_permille=event.load_permille,
        )  # fmt: skip
    return replaced(member, seq=event.seq, heard_ms=heard_ms)


def _stranger(event: MemberEvent, live: ClusterMember | None) -> Refused:
    """Why the message of one that is no member does nothing. ``live`` is a member with its id."""
    its = f"{event.instance} in incarnation {event.incarnation}"
    if live is not None:
        return Refused(Reason.OTHER_INCARNATION, f"{its} is no member, but {live.incarnation} is")
    return Refused(Reason.NOT_A_MEMBER, f"{its} is no member; join first")


def _judged(before: ClusterState, heard: ClusterState, event: MemberEvent | Unread) -> Ruling:
    """What the message's rule decides."""
    assert not isinstance(event, Unread), "it was refused before"
    if isinstance(event, SnapshotMessage):
        return _snapshot(before, heard, event)
    if heard.settings is None and not (isinstance(event, AdminMessage) and event.configure):
        return Refused(Reason.NOT_FOUNDED, "the cluster has no settings yet; configure it first")
    return RULES[type(event)](heard, event)


def _snapshot(before: ClusterState, heard: ClusterState, event: SnapshotMessage) -> Ruling:
    """A snapshot counts where nothing was appended between what it holds and itself: there every reader can check it,
    and one that begins with it misses nothing.
    """
    if event.state.offset != before.offset:
        held = f"it holds the state after offset {event.state.offset}"
        return Refused(Reason.OUTDATED, f"{held}, and the record before it is {before.offset}; take another")
    if state_hash(before) != event.state_hash:
        return Refused(Reason.DIVERGED, f"{event.instance} came to another state; stop it, and report this as a bug")
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
    AdminMessage: administer,
}
"""What decides of each message. The state is the one after the record was heard, so its offset is the record's."""
