"""The rules for evicting members by proposal. A proposal is a compare-and-set: it is judged by the state at its own
offset, so a proposer that is slow or wrong does no harm.
"""

from callboard.actors.topology.joining import in_force, silence_ms
from callboard.actors.topology.verdict import Reason, Refused, Ruling
from callboard.actors.topology.views import without
from callboard.messages.event import replaced
from callboard.messages.topology.cluster_state import AckPolicy, ClusterMember, ClusterState
from callboard.messages.topology.control_messages import Evidence, ProposeMessage
from callboard.messages.topology.limits import LEASE_MS_MAX, MEMBERS_MAX

BUDGET_LEASES = 2
"""The budget's window, in leases: if the network to the log failed and not the members, this is the time to notice."""


def propose(state: ClusterState, event: ProposeMessage) -> Ruling:
    """Evict all proposed members or none. The view must be the one that the proposal is for, the evidence must hold for
    each member at this record, and the budget must suffice.
    """
    if event.base_epoch != state.view.epoch:
        return Refused(
            Reason.OUTDATED, f"the proposal is for epoch {event.base_epoch}, but the epoch is {state.view.epoch}"
        )
    if state.frozen:
        return Refused(Reason.FROZEN, "the cluster is frozen; unfreeze it, or evict the member by command")
    for target in event.remove:
        if (refused := _stays(state, event.evidence, target)) is not None:
            return refused
    recent = recent_evictions(state)
    allowed = budget(state, len(recent))
    if len(recent) + len(event.remove) > allowed:
        spent = f"{len(recent)} of {allowed} evictions are spent"
        return Refused(Reason.OVER_BUDGET, f"{spent}, {len(event.remove)} more proposed; wait, or evict by command")
    evicted_ms = (*state.evicted_ms, *[state.clock.now_ms] * len(event.remove))
    return without(replaced(state, evicted_ms=_remembered(evicted_ms)), event.remove, event.barriers)


def overdue(state: ClusterState) -> bool:
    """Whether the deadline for acknowledging the view has passed, also for members that know only former settings."""
    due_ms = state.view.epoch_ms + in_force(state).ack_deadline_ms
    return state.clock.now_ms >= max(due_ms, state.granted_ms)


def recent_evictions(state: ClusterState) -> tuple[int, ...]:
    """The times, on the lease clock, of the evictions that count against the budget."""
    window_ms = BUDGET_LEASES * in_force(state).lease_ms
    return tuple([at_ms for at_ms in state.evicted_ms if state.clock.now_ms - at_ms < window_ms])


def budget(state: ClusterState, recent: int) -> int:
    """How many members may be evicted within ``BUDGET_LEASES``, including the ``recent`` evictions."""
    settings = in_force(state)
    size = len(state.members) + recent
    return max(settings.budget_min, (size - 1) * settings.budget_percent // 100)


def _remembered(evicted_ms: tuple[int, ...]) -> tuple[int, ...]:
    """The evictions that may count against a budget, also if a longer lease is configured later."""
    longest_ms = BUDGET_LEASES * LEASE_MS_MAX
    return tuple([at_ms for at_ms in evicted_ms[-MEMBERS_MAX:] if evicted_ms[-1] - at_ms < longest_ms])


def _stays(state: ClusterState, evidence: Evidence, target: str) -> Refused | None:
    """Why the member may not be evicted, or None."""
    member = state.member(target)
    if member is None:
        return Refused(Reason.NOT_A_MEMBER, f"{target} is not a member")
    return _has_acked(state, member) if evidence is Evidence.NO_ACK else _is_heard(state, member)


def _is_heard(state: ClusterState, member: ClusterMember) -> Refused | None:
    silent_ms, lease_ms = silence_ms(state, member), in_force(state).lease_ms
    if silent_ms < lease_ms:
        return Refused(Reason.LEASE_RUNS, f"{member.instance} was silent for {silent_ms} of {lease_ms} ms")
    return None


def _has_acked(state: ClusterState, member: ClusterMember) -> Refused | None:
    if in_force(state).ack_policy is not AckPolicy.EVICT:
        return Refused(Reason.ACK_NOT_DUE, "the settings do not evict for a missing acknowledgement")
    if member.acked == state.view.epoch:
        return Refused(Reason.ACK_NOT_DUE, f"{member.instance} has acknowledged epoch {state.view.epoch}")
    if not overdue(state):
        waited_ms = state.clock.now_ms - state.view.epoch_ms
        return Refused(
            Reason.ACK_NOT_DUE, f"{member.instance} had {waited_ms} ms to acknowledge epoch {state.view.epoch}"
        )
    return None
