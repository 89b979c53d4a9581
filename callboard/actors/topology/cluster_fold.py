"""A fold in progress."""

from callboard.actors.topology.lease_clock import ticked
from callboard.actors.topology.reducer import NS_PER_MS, renewed, step
from callboard.actors.topology.verdict import Reason, Verdict
from callboard.messages.event import replaced
from callboard.messages.record import Record
from callboard.messages.topology.cluster_state import EMPTY, AckPolicy, ClusterState
from callboard.messages.topology.control_messages import RenewMessage
from callboard.messages.topology.member_event import MemberEvent
from callboard.messages.topology.reading import Unread, read


class ClusterFold:
    """The fold of a topic up to some record. It computes what ``reducer.fold`` does, several times as fast.

    Nearly all records are renewals, and of a member only the last one matters. So renewals are collected, and the state
    is computed when it is asked for, or before any other message.
    """

    def __init__(self, state: ClusterState = EMPTY) -> None:
        self._continue(state)

    def _continue(self, state: ClusterState) -> None:
        self._state, self._offset, self._clock = state, state.offset, state.clock
        self._renewals = dict[str, tuple[RenewMessage, int]]()  # by instance, with the time on the lease clock
        view, settings = state.view, state.settings
        may_settle = view.settled != view.epoch and settings is not None and settings.ack_policy is AckPolicy.PROCEED
        self._renewals_matter = may_settle or state.stopped >= 0

    @property
    def state(self) -> ClusterState:
        """The state after the last record."""
        if self._renewals:
            members = tuple(
                renewed(member, *self._renewals[member.instance]) if member.instance in self._renewals else member
                for member in self._state.members
            )
            self._continue(replaced(self._state, offset=self._offset, clock=self._clock, members=members))
        return self._state

    @property
    def epoch(self) -> int:
        """The epoch of the view."""
        return self._state.view.epoch

    def see(self, record: Record) -> Verdict:
        """Apply the next record; return the verdict. Never raises."""
        return self.step(record.offset, record.time_ns // NS_PER_MS, read(record))

    def step(self, offset: int, time_ms: int, event: MemberEvent | Unread) -> Verdict:
        """Like ``see``, for a decoded record."""
        if isinstance(event, RenewMessage) and self._only_renews(offset, event):
            self._offset, self._clock = offset, ticked(self._clock, self._state.settings, time_ms)
            self._renewals[event.instance] = event, self._clock.now_ms
            return Verdict(offset, Reason.ACCEPTED, "", self._state.view.epoch, self._state.view.settled)
        state, verdict = step(self.state, offset, time_ms, event)
        self._continue(state)
        return verdict

    def _only_renews(self, offset: int, event: RenewMessage) -> bool:
        """Whether the renewal is accepted and changes nothing but the lease."""
        collected = self._renewals.get(event.instance)
        last = collected[0] if collected else self._state.member(event.instance)
        new = last is not None and last.incarnation == event.incarnation and last.seq < event.seq
        return new and self._offset < offset and not self._renewals_matter
