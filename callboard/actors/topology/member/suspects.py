"""Who may be evicted."""

from callboard.actors.topology.joining import in_force, silence_ms
from callboard.actors.topology.proposing import budget, overdue, recent_evictions
from callboard.messages.topology.cluster_state import AckPolicy, ClusterState
from callboard.messages.topology.control_messages import Evidence


def suspects(state: ClusterState, instance: str) -> tuple[Evidence, tuple[str, ...]]:
    """The members other than ``instance`` for whose eviction the log has evidence, and this evidence; the budget allows
    to evict them all. Silent ones come first: until they are gone no view can settle.
    """
    if state.frozen or state.settings is None or state.stopped >= 0:
        return Evidence.SILENT, ()
    others = [member for member in state.members if member.instance != instance]
    evidence, lease_ms = Evidence.SILENT, in_force(state).lease_ms
    chosen = sorted(
        (member for member in others if silence_ms(state, member) >= lease_ms), key=lambda member: member.heard_ms
    )
    late = in_force(state).ack_policy is AckPolicy.EVICT and state.view.settled != state.view.epoch and overdue(state)
    if not chosen and late:
        evidence, chosen = Evidence.NO_ACK, [member for member in others if member.acked != state.view.epoch]
    recent = len(recent_evictions(state))
    left = max(0, budget(state, recent) - recent)
    return evidence, tuple([member.instance for member in chosen[:left]])
