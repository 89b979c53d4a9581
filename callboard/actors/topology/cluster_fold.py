"""A fold in progress."""

from functools import lru_cache

from callboard.actors.topology.joining import in_force
from callboard.actors.topology.lease_clock import RunningClock
from callboard.actors.topology.reducer import NS_PER_MS, renewed, step
from callboard.actors.topology.reporting import acknowledged
from callboard.actors.topology.verdict import Reason, Refused, Verdict
from callboard.messages.event import replaced
from callboard.messages.reading import Unread
from callboard.messages.record import Record
from callboard.messages.topology.cluster_state import EMPTY, AckPolicy, ClusterMember, ClusterState
from callboard.messages.topology.control_messages import AckMessage, RenewMessage
from callboard.messages.topology.member_event import MemberEvent
from callboard.messages.topology.reading import RECENT, read

# All members of a process read the same records within seconds of each other, so each computes what another just did.
_step = lru_cache(maxsize=RECENT // 4)(step)
_renewed = lru_cache(maxsize=RECENT)(renewed)
_acknowledged = lru_cache(maxsize=RECENT)(acknowledged)


def forget() -> None:
    """Forget what was read and computed: the rules are others, or this stands for another process, as in a test."""
    for kept in (_step, _renewed, _acknowledged, read):
        kept.cache_clear()


class ClusterFold:
    """The fold of a topic up to some record. It computes what ``reducer.fold`` does, several times as fast.

    Nearly all records are renewals, and of a member only the last one matters. So renewals are collected, and the state
    is computed when it is asked for, or before any other message. An acknowledgement changes one member, unless it is
    the last one, and every view brings as many as there are members.
    """

    def __init__(self, state: ClusterState = EMPTY) -> None:
        self._places = dict[str, int]()  # of the members in the order, which changes only with the epoch
        self._placed = -1
        self._continue(state)

    def _continue(self, state: ClusterState) -> None:
        self._state, self._offset, self._clock = state, state.offset, RunningClock(state.clock)
        self._members = list(state.members)
        self._missing = -1  # acknowledgements; not counted yet
        self._renewals = dict[str, tuple[RenewMessage, int]]()  # by instance, with the time on the lease clock
        view, settings = state.view, state.settings
        may_settle = view.settled != view.epoch and settings is not None and settings.ack_policy is AckPolicy.PROCEED
        self._every_record_matters = may_settle or state.stopped >= 0

    @property
    def state(self) -> ClusterState:
        """The state after the last record."""
        if self._offset > self._state.offset:
            for instance in list(self._renewals):
                self._renew(self._places[instance])
            members = tuple(self._members)
            self._state = replaced(self._state, offset=self._offset, clock=self._clock.clock, members=members)
        return self._state

    @property
    def offset(self) -> int:
        """The offset of the last record."""
        return self._offset

    @property
    def epoch(self) -> int:
        """The epoch of the view."""
        return self._state.view.epoch

    def see(self, record: Record) -> Verdict:
        """Apply the next record; return the verdict. Never raises."""
        return self.step(record.offset, record.time_ns // NS_PER_MS, read(record))

    def step(self, offset: int, time_ms: int, event: MemberEvent | Unread) -> Verdict:
        """Like ``see``, for a decoded record."""
        if isinstance(event, RenewMessage) and self._sender(offset, event) >= 0:
            self._pass(offset, time_ms)
            self._renewals[event.instance] = event, self._clock.now_ms
            return self._verdict(Reason.ACCEPTED)
        if isinstance(event, AckMessage) and (place := self._sender(offset, event)) >= 0 and self._count_missing() != 1:
            self._pass(offset, time_ms)
            return self._acknowledge(place, event)
        state, verdict = _step(self.state, offset, time_ms, event)
        self._continue(state)
        return verdict

    def _sender(self, offset: int, event: RenewMessage | AckMessage) -> int:
        """The place of the member, if the message is new, and changes at most that member and the clock; or -1."""
        if self._every_record_matters or offset <= self._offset:
            return -1
        if self._placed != self.epoch:
            self._placed = self.epoch
            self._places = {each.instance: place for place, each in enumerate(self._members)}
        if (place := self._places.get(event.instance, -1)) < 0:
            return -1
        collected = self._renewals.get(event.instance)
        last = collected[0] if collected else self._members[place]
        return place if last.incarnation == event.incarnation and last.seq < event.seq else -1

    def _pass(self, offset: int, time_ms: int) -> None:
        self._offset = offset
        self._clock.tick(in_force(self._state), time_ms)

    def _renew(self, place: int) -> ClusterMember:
        """Apply the collected renewal of the member at this place."""
        member = self._members[place]
        if (renewal := self._renewals.pop(member.instance, None)) is not None:
            member = self._members[place] = _renewed(member, *renewal)
        return member

    def _acknowledge(self, place: int, event: AckMessage) -> Verdict:
        member = self._members[place] = _renewed(self._renew(place), event, self._clock.now_ms)
        acked = _acknowledged(self._state.view, member, event)
        if isinstance(acked, Refused):
            return self._verdict(*acked)
        self._members[place] = acked
        self._missing -= 1
        return self._verdict(Reason.ACCEPTED)

    def _count_missing(self) -> int:
        if self._missing < 0:
            self._missing = sum(each.acked != self.epoch for each in self._members)
        return self._missing

    def _verdict(self, reason: Reason, detail: str = "") -> Verdict:
        view = self._state.view
        return Verdict(self._offset, reason, detail, view.epoch, view.settled)
