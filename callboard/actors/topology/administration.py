"""The rules for commands to the cluster."""

from callboard.actors.topology.joining import in_force, speaks
from callboard.actors.topology.verdict import Reason, Refused, Ruling
from callboard.actors.topology.views import with_member, with_members, without
from callboard.messages.event import replaced
from callboard.messages.topology.cluster_state import ClusterMember, ClusterSettings, ClusterState
from callboard.messages.topology.control_messages import AdminMessage, DrainCommand, EvictCommand, FreezeCommand

PROTOCOL = 1
"""The highest protocol that this code supports. A changed rule or limit, or a new message or command, is a new one."""


def administer(state: ClusterState, event: AdminMessage) -> Ruling:
    """Carry out the command, if nothing changed since its author read the state."""
    if event.base != state.changed:
        return Refused(
            Reason.OUTDATED, f"the command is based on offset {event.base}, but the last change is {state.changed}"
        )
    ruling = _carried_out(state, event)
    return ruling if isinstance(ruling, Refused) else replaced(ruling, admin_offset=state.offset)


def _carried_out(state: ClusterState, event: AdminMessage) -> Ruling:
    (command,) = event.commands
    if isinstance(command, ClusterSettings):
        return configured(state, command)
    if isinstance(command, FreezeCommand):
        return _frozen(state, command)
    target = getattr(command, "target", "")
    member = state.member(target)
    if member is None:
        return Refused(Reason.NOT_A_MEMBER, f"{target} is not a member")
    if isinstance(command, EvictCommand):
        return without(state, [target], command.barriers)
    if isinstance(command, DrainCommand):
        return _drained(state, member, command)
    return _transferred(state, member)


def _frozen(state: ClusterState, command: FreezeCommand) -> Ruling:
    if command.frozen is state.frozen:
        its = "is frozen already" if state.frozen else "is not frozen"
        return Refused(Reason.UNCHANGED, f"the cluster {its}")
    return replaced(state, frozen=command.frozen)


def _drained(state: ClusterState, member: ClusterMember, command: DrainCommand) -> Ruling:
    if command.draining is member.draining:
        its = "is draining already" if member.draining else "is not draining"
        return Refused(Reason.UNCHANGED, f"{member.instance} {its}")
    changed = with_member(state, replaced(member, draining=command.draining))
    return with_members(state, changed.members)


def _transferred(state: ClusterState, member: ClusterMember) -> Ruling:
    if member.instance == state.view.leader:
        return Refused(Reason.UNCHANGED, f"{member.instance} is the leader")
    if member.draining:
        return Refused(Reason.DRAINING, f"{member.instance} is draining; end that first, or choose another")
    return with_members(state, state.members, leader=member.life)


def configured(state: ClusterState, settings: ClusterSettings) -> Ruling:
    """Change the settings; the first ones found the cluster.

    A shorter lease does not shorten leases already granted, because members count on them until they read this record.
    For as long nobody is evicted for a missing acknowledgement: its deadline may be shorter, too.
    """
    if state.settings is None:
        return _understood(replaced(state, settings=settings))
    former = in_force(state)
    if settings.cluster_id != former.cluster_id:
        return Refused(Reason.WRONG_CLUSTER, f"the cluster id is {former.cluster_id} and cannot change")
    for member in state.members:
        if not speaks(member, settings.protocol):
            return Refused(
                Reason.INCOMPATIBLE, f"{member.instance} does not support protocol {settings.protocol}; upgrade it"
            )
    extra_ms = max(0, former.lease_ms - settings.lease_ms)
    members = tuple([replaced(member, heard_ms=member.heard_ms + extra_ms) for member in state.members])
    shorter = extra_ms > 0 or settings.ack_deadline_ms < former.ack_deadline_ms
    granted_ms = max(state.granted_ms, state.clock.now_ms + former.lease_ms) if shorter else state.granted_ms
    return _understood(replaced(state, settings=settings, members=members, granted_ms=granted_ms))


def _understood(state: ClusterState) -> ClusterState:
    """The state, stopped if the cluster now uses a protocol that this code does not support."""
    return replaced(state, stopped=state.offset) if in_force(state).protocol > PROTOCOL else state
