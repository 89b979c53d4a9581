"""The rules for acknowledgements, properties, suspicions, and what the leader writes."""

from callboard.actors.topology.joining import in_force
from callboard.actors.topology.proposing import overdue
from callboard.actors.topology.verdict import Reason, Refused, Ruling
from callboard.actors.topology.views import with_member
from callboard.errors import Undecodable
from callboard.messages.event import replaced
from callboard.messages.topology.cluster_state import AckPolicy, AgreedView, ClusterMember, ClusterState
from callboard.messages.topology.control_messages import AckMessage, LeaderMessage, PropertiesMessage, SuspectMessage
from callboard.messages.topology.limits import check_properties


def ack(state: ClusterState, event: AckMessage) -> Ruling:
    """Count the acknowledgement; the last one settles the view."""
    member = acknowledged(state.view, _sender(state, event.instance), event)
    return member if isinstance(member, Refused) else _settled(with_member(state, member))


def acknowledged(view: AgreedView, member: ClusterMember, event: AckMessage) -> ClusterMember | Refused:
    """The sender after its acknowledgement. It must have computed the same state."""
    if event.epoch != view.epoch:
        return Refused(
            Reason.OUTDATED, f"the acknowledgement is for epoch {event.epoch}, but the epoch is {view.epoch}"
        )
    if event.state_hash != view.state_hash:
        both = f"{event.state_hash!r:.80} instead of {view.state_hash}"
        return Refused(Reason.DIVERGED, f"{event.instance} computed the state {both}; stop it and report a bug")
    if member.acked == event.epoch:
        return Refused(Reason.UNCHANGED, f"{event.instance} acknowledged epoch {event.epoch} before")
    return replaced(member, acked=event.epoch)


def _settled(state: ClusterState) -> ClusterState:
    if all(member.acked == state.view.epoch for member in state.members):
        return replaced(state, view=replaced(state.view, settled=state.view.epoch, degraded=False))
    return state


def proceeded(state: ClusterState) -> ClusterState:
    """The state, settled after the deadline without all acknowledgements if the settings allow it."""
    if in_force(state).ack_policy is AckPolicy.PROCEED and state.members and overdue(state):
        return replaced(state, view=replaced(state.view, settled=state.view.epoch, degraded=True))
    return state


def properties(state: ClusterState, event: PropertiesMessage) -> Ruling:
    """Change the sender's properties; the view stays."""
    member = _sender(state, event.instance)
    kept = {name: value for name, value in member.properties if name not in event.unset}
    changed = tuple(sorted((kept | dict(event.set)).items()))
    if changed == member.properties:
        return Refused(Reason.UNCHANGED, f"{event.instance} already has these properties")
    try:
        check_properties(changed)
    except Undecodable as error:
        return Refused(Reason.TOO_LARGE, f"{event.instance}: {error}")
    return with_member(state, replaced(member, properties=changed, properties_offset=state.offset))


def suspect(state: ClusterState, event: SuspectMessage) -> Ruling:
    """Note or withdraw a suspicion. It ends when the sender or the target leaves."""
    target = state.member(event.target)
    if target is None or target.incarnation != event.target_incarnation:
        return Refused(Reason.NOT_A_MEMBER, f"incarnation {event.target_incarnation} of {event.target} is not a member")
    if (event.instance in target.suspected_by) is not event.withdrawn:
        return Refused(Reason.UNCHANGED, f"{event.instance} said so about {event.target} before")
    others = [name for name in target.suspected_by if name != event.instance]
    suspecting = others if event.withdrawn else [*others, event.instance]
    return with_member(state, replaced(target, suspected_by=tuple(sorted(suspecting))))


def lead(state: ClusterState, event: LeaderMessage) -> Ruling:
    """Accept what the present leader writes; it changes nothing here."""
    leading = state.view.leader, state.view.leader_epoch
    if leading != (event.instance, event.leader_epoch):
        its = f"{event.instance} writes as the leader of epoch {event.leader_epoch}"
        return Refused(Reason.NOT_LEADING, f"{its}, but {leading[0]} leads since epoch {leading[1]}")
    return state


def _sender(state: ClusterState, instance: str) -> ClusterMember:
    member = state.member(instance)
    assert member is not None, "messages of non-members are refused earlier"
    return member
