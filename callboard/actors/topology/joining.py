"""The rules for joining and leaving."""

from callboard.actors.topology.verdict import Reason, Refused, Ruling
from callboard.actors.topology.views import parting, with_members, without
from callboard.messages.topology.cluster_state import ClusterMember, ClusterSettings, ClusterState
from callboard.messages.topology.control_messages import JoinMessage, LeaveMessage
from callboard.messages.topology.limits import MEMBERS_MAX


def join(state: ClusterState, event: JoinMessage) -> Ruling:
    """Append the instance to the order. If it restarted, its former incarnation leaves in the same view."""
    if (refused := _unfit(state, event)) is not None:
        return refused
    members = state.members
    if (live := state.member(event.instance)) is not None:
        if live.incarnation == event.incarnation:
            return Refused(Reason.UNCHANGED, f"{event.instance} joined at offset {live.join_offset}")
        if (refused := _no_takeover(state, live, event)) is not None:
            return refused
        state, members = parting(state, [live.instance])
    if len(members) >= MEMBERS_MAX:
        return Refused(Reason.FULL, f"the cluster has {MEMBERS_MAX} members; start this instance on another board")
    return with_members(state, (*members, _member(state, event)), event.barriers if live else ())


def leave(state: ClusterState, event: LeaveMessage) -> Ruling:
    """Remove the sender."""
    return without(state, [event.instance], event.barriers)


def speaks(its: JoinMessage | ClusterMember, protocol: int) -> bool:
    """Whether it supports this protocol."""
    return its.protocol_min <= protocol <= its.protocol


def silence_ms(state: ClusterState, member: ClusterMember) -> int:
    """How long ago, on the lease clock, the member's last record was appended."""
    return state.clock.now_ms - member.heard_ms


def in_force(state: ClusterState) -> ClusterSettings:
    """The settings of the cluster, which exists."""
    assert state.settings is not None, "rules apply only after the cluster was founded"
    return state.settings


def _unfit(state: ClusterState, event: JoinMessage) -> Refused | None:
    """Why this join is refused, even if the id is free."""
    if not speaks(event, protocol := in_force(state).protocol):
        its = f"{event.protocol_min} to {event.protocol}"
        return Refused(
            Reason.INCOMPATIBLE, f"{event.instance} supports protocols {its}, the cluster uses {protocol}; upgrade it"
        )
    if any((each.instance, each.incarnation) == (event.instance, event.incarnation) for each in state.gone):
        return Refused(
            Reason.GONE, f"incarnation {event.incarnation} of {event.instance} has left; join with a new one"
        )
    if event.read_to < state.gone_horizon:
        why = f"{event.instance} had read only up to offset {event.read_to}"
        return Refused(Reason.OUTDATED, f"{why}; read up to {state.gone_horizon} or further, then join again")
    return None


def _no_takeover(state: ClusterState, live: ClusterMember, event: JoinMessage) -> Refused | None:
    """Why the joiner may not replace the live incarnation. It must name it, or wait until its lease has run out: no one
    else could evict the former incarnation of a cluster's only member.
    """
    if event.previous == live.incarnation or silence_ms(state, live) >= in_force(state).lease_ms:
        return None
    both = f"{live.incarnation}, since offset {live.join_offset}, and {event.incarnation}"
    return Refused(
        Reason.DUPLICATE_ID,
        f"two processes run as {event.instance}: incarnations {both}; stop one, or give it another id",
    )


def _member(state: ClusterState, event: JoinMessage) -> ClusterMember:
    return ClusterMember(
        instance=event.instance,
        incarnation=event.incarnation,
        join_offset=state.offset,
        seq=event.seq,
        heard_ms=state.clock.now_ms,
        priority=event.priority,
        protocol=event.protocol,
        protocol_min=event.protocol_min,
        tags=event.tags,
        properties=tuple(sorted(event.properties)),
        properties_offset=state.offset,
        read_to=event.read_to,
    )
