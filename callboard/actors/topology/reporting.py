"""The rules for what members say about the view, themselves and each other."""

from callboard.actors.topology.joining import in_force
from callboard.actors.topology.proposing import overdue
from callboard.actors.topology.verdict import Reason, Refused, Ruling
from callboard.actors.topology.views import with_member
from callboard.errors import Undecodable
from callboard.messages.event import replaced
from callboard.messages.topology.cluster_state import AckPolicy, ClusterMember, ClusterState
from callboard.messages.topology.control_messages import AckMessage, PropertiesMessage, SuspectMessage
from callboard.messages.topology.limits import check_properties


def ack(state: ClusterState, event: AckMessage) -> Ruling:
    """The last missing acknowledgement settles the view. One by a member that came to another state does not count."""
    member = _sender(state, event.instance)
    if event.epoch != state.view.epoch:
        return Refused(Reason.OUTDATED, f"it is for epoch {event.epoch}, and the epoch is {state.view.epoch}")
    if event.state_hash != state.view.state_hash:
        theirs = f"the state with the digest {event.state_hash!r:.80}, and others to {state.view.state_hash}"
        return Refused(Reason.DIVERGED, f"{event.instance} came to {theirs}; stop it, and report this as a bug")
    if member.acked == event.epoch:
        return Refused(Reason.UNCHANGED, f"{event.instance} has acknowledged epoch {event.epoch} already")
    return _settled(with_member(state, replaced(member, acked=event.epoch)))


def _settled(state: ClusterState) -> ClusterState:
    if all(member.acked == state.view.epoch for member in state.members):
        return replaced(state, view=replaced(state.view, settled=state.view.epoch, degraded=False))
    return state


def proceeded(state: ClusterState) -> ClusterState:
    """The state, settled without those that did not acknowledge the view in time, if the settings say so."""
    if in_force(state).ack_policy is AckPolicy.PROCEED and state.members and overdue(state):
        return replaced(state, view=replaced(state.view, settled=state.view.epoch, degraded=True))
    return state


def properties(state: ClusterState, event: PropertiesMessage) -> Ruling:
    """The properties change, and the view does not."""
    member = _sender(state, event.instance)
    kept = {name: value for name, value in member.properties if name not in event.unset}
    changed = tuple(sorted((kept | dict(event.set)).items()))
    if changed == member.properties:
        return Refused(Reason.UNCHANGED, f"{event.instance} has these properties")
    try:
        check_properties(changed)
    except Undecodable as error:
        return Refused(Reason.TOO_LARGE, f"{event.instance}: {error}")
    return with_member(state, replaced(member, properties=changed, properties_offset=state.offset))


def suspect(state: ClusterState, event: SuspectMessage) -> Ruling:
    """The suspicion is shown until the sender withdraws it, or one of the two leaves."""
    target = state.member(event.target)
    if target is None or target.incarnation != event.target_incarnation:
        return Refused(Reason.NOT_A_MEMBER, f"{event.target} is no member in incarnation {event.target_incarnation}")
    if (event.instance in target.suspected_by) is not event.withdrawn:
        return Refused(Reason.UNCHANGED, f"{event.instance} has said so of {event.target} already")
    others = [name for name in target.suspected_by if name != event.instance]
    suspecting = others if event.withdrawn else [*others, event.instance]
    return with_member(state, replaced(target, suspected_by=tuple(sorted(suspecting))))


def _sender(state: ClusterState, instance: str) -> ClusterMember:
    member = state.member(instance)
    assert member is not None, "only members get here"
    return member
