"""Making the next view: members, leader and epoch change together."""

from collections.abc import Iterable

from callboard.messages.event import replaced
from callboard.messages.topology.cluster_state import Barrier, ClusterMember, ClusterState, Departed
from callboard.messages.topology.limits import GONE_MAX
from callboard.messages.topology.state_hash import state_hash


def elected(members: tuple[ClusterMember, ...], former: tuple[str, str] | None) -> ClusterMember | None:
    """The leader of these members: the former leader while it is a member, else the first by priority, then by order.

    A draining member leads only if all are draining. ``former`` is an instance and its incarnation.
    """
    eligible = [member for member in members if not member.draining] or members
    stays = next((member for member in eligible if member.life == former), None)
    return stays or min(eligible, key=lambda member: (member.priority, member.join_offset), default=None)


def with_members(
    state: ClusterState,
    members: tuple[ClusterMember, ...],
    barriers: Iterable[Barrier] = (),
    leader: tuple[str, str] | None = None,
) -> ClusterState:
    """The state with these members. ``leader`` replaces the former leader, if given.

    If the members or the leader change, this is a new view, and its epoch is ``state.offset``.
    """
    view = state.view
    former = state.member(view.leader)
    was = former.life if former else None
    leads = elected(members, leader or was)
    now = leads.life if leads else None
    if now == was and [member.life for member in members] == [member.life for member in state.members]:
        return replaced(state, members=members)
    view = replaced(
        view,
        leader=leads.instance if leads else "",
        leader_epoch=view.leader_epoch if now == was else state.offset,
        epoch=state.offset,
        epoch_ms=state.clock.now_ms,
        degraded=False,
        barriers=_highest((*(view.barriers if view.settled < view.epoch else ()), *barriers)),
    )
    changed = replaced(state, members=members, view=view)
    return replaced(changed, view=replaced(view, state_hash=state_hash(changed)))


def without(state: ClusterState, targets: Iterable[str], barriers: Iterable[Barrier] = ()) -> ClusterState:
    """The state without these members. Their incarnations can never join again."""
    parted, stay = parting(state, targets)
    return with_members(parted, stay, barriers)


def parting(state: ClusterState, targets: Iterable[str]) -> tuple[ClusterState, tuple[ClusterMember, ...]]:
    """The state with these members noted as gone, and the members that stay, for the next view."""
    removed = set(targets)
    leave = [member for member in state.members if member.instance in removed]
    stay = tuple([_trusting(member, removed) for member in state.members if member.instance not in removed])
    departed = (Departed(instance=it.instance, incarnation=it.incarnation, offset=state.offset) for it in leave)
    gone = (*state.gone, *departed)
    forgotten = gone[:-GONE_MAX]
    horizon = max([state.gone_horizon, *(each.offset for each in forgotten)])
    return replaced(state, gone=gone[-GONE_MAX:], gone_horizon=horizon), stay


def _trusting(member: ClusterMember, gone: set[str]) -> ClusterMember:
    """The member without suspicions by members that are gone."""
    if gone.isdisjoint(member.suspected_by):
        return member
    return replaced(member, suspected_by=tuple([name for name in member.suspected_by if name not in gone]))


def _highest(barriers: Iterable[Barrier]) -> tuple[Barrier, ...]:
    """The highest barrier of each topic, sorted by topic."""
    highest: dict[tuple[str, str], Barrier] = {}
    for barrier in barriers:
        known = highest.setdefault((barrier.topic, barrier.log_id), barrier)
        if barrier.offset > known.offset:
            highest[barrier.topic, barrier.log_id] = barrier
    return tuple([highest[key] for key in sorted(highest)])


def with_member(state: ClusterState, member: ClusterMember) -> ClusterState:
    """The state with this member in place of the one with the same id."""
    place = state.index_of(member.instance)
    return replaced(state, members=(*state.members[:place], member, *state.members[place + 1 :]))
