"""The rules for commands to the cluster."""

from callboard.actors.topology.joining import in_force, speaks
from callboard.actors.topology.verdict import Reason, Refused, Ruling
from callboard.actors.topology.views import with_member, with_members, without
from callboard.messages.event import replaced
from callboard.messages.topology.cluster_state import ClusterMember, ClusterSettings, ClusterState
from callboard.messages.topology.control_messages import AdminMessage, DrainCommand, EvictCommand, FreezeCommand

PROTOCOL = 1
"""The highest version of the rules that this code knows. A changed rule or limit is a new version."""


def administer(state: ClusterState, event: AdminMessage) -> Ruling:
    """Carry out the command, if nothing changed since its author looked."""
    if event.base != state.changed:
        return Refused(Reason.OUTDATED, f"it is for the cluster as of offset {event.base}, and it is {state.changed}")
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
        return Refused(Reason.NOT_A_MEMBER, f"{target} is no member")
    if isinstance(command, EvictCommand):
        return without(state, [target], command.barriers)
    if isinstance(command, DrainCommand):
        return _drained(state, member, command)
    return _transferred(state, member)


def _frozen(state: ClusterState, command: FreezeCommand) -> Ruling:
    if command.frozen is state.frozen:
        return Refused(Reason.UNCHANGED, "it is so already")
    return replaced(state, frozen=command.frozen)


def _drained(state: ClusterState, member: ClusterMember, command: DrainCommand) -> Ruling:
    if command.draining is member.draining:
        return Refused(Reason.UNCHANGED, f"for {member.instance} it is so already")
    changed = with_member(state, replaced(member, draining=command.draining))
    return with_members(state, changed.members)


def _transferred(state: ClusterState, member: ClusterMember) -> Ruling:
    if member.instance == state.view.leader:
        return Refused(Reason.UNCHANGED, f"{member.instance} is the leader")
    if member.draining:
        return Refused(Reason.DRAINING, f"{member.instance} is draining; let it lead again first, or choose another")
    return with_members(state, state.members, leader=member.life)


def configured(state: ClusterState, settings: ClusterSettings) -> Ruling:
    """Put the settings in force; the first ones found the cluster.

    A shorter lease does not shorten what is leased: members may count on the longer one until they have read this.
    """
    if state.settings is None:
        return _understood(replaced(state, settings=settings))
    former = in_force(state)
    if settings.cluster_id != former.cluster_id:
        return Refused(Reason.WRONG_CLUSTER, f"this is the cluster {former.cluster_id}, for ever")
    for member in state.members:
        if not speaks(member, settings.protocol):
            return Refused(Reason.INCOMPATIBLE, f"{member.instance} does not speak protocol {settings.protocol}")
    extra_ms = max(0, former.lease_ms - settings.lease_ms)
    members = tuple([replaced(member, heard_ms=member.heard_ms + extra_ms) for member in state.members])
    return _understood(replaced(state, settings=settings, members=members))


def _understood(state: ClusterState) -> ClusterState:
    """The state, stopped if the cluster goes on by rules that this code does not know."""
    return replaced(state, stopped=state.offset) if in_force(state).protocol > PROTOCOL else state
