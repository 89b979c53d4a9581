"""Checks every step of the fold by the records alone, with other code than the reducer's."""

from typing import Any

from callboard.actors.topology.verdict import Reason, Verdict
from callboard.messages.reading import Unread
from callboard.messages.topology.cluster_state import EMPTY, AckPolicy, ClusterMember, ClusterState
from callboard.messages.topology.control_messages import (
    AckMessage,
    AdminMessage,
    Evidence,
    JoinMessage,
    LeaderMessage,
    LeaveMessage,
    ProposeMessage,
)
from callboard.messages.topology.member_event import MemberEvent

COUNT_MAX = 10**15
"""More milliseconds than ever pass."""

Life = tuple[str, str]


class Oracle:
    """Sees every record with the state before and after it; raises ``AssertionError`` for a broken invariant.

    ``passed`` is an upper bound of the lease clock: every step ahead of the append times counts, up to the gap, or, if
    ``unbounded``, in full.
    """

    def __init__(self, *, unbounded: bool = False) -> None:
        self._unbounded = unbounded
        self.state = EMPTY
        self.passed, self._time_ms = 0, 0
        self.heard: dict[Life, int] = {}  # of each life, what had passed at its last new message
        self._sent: dict[Life, int] = {}
        self._acked: set[tuple[Life, int]] = set()
        self.departed: set[Life] = set()
        self.leaders: dict[int, Life] = {}
        self._evicted: list[int] = []

    def see(
        self, _offset: int, time_ms: int, event: MemberEvent | Unread, after: ClusterState, verdict: Verdict
    ) -> None:
        """Check this record's effect on the state."""
        before, self.state = self.state, after
        if verdict.reason in (Reason.REPLAYED, Reason.STOPPED, Reason.TOO_NEW):
            return
        self._passes(before, after, time_ms)
        if not isinstance(event, Unread):
            self._hear(before, event, verdict)
        if not verdict.accepted and not after.view.degraded:
            assert but_for_the_record(after) == but_for_the_record(before), "a refused record changes nothing"
        self._structure(after)
        self._order(before, after)
        self._leads(before, after, event)
        if isinstance(event, LeaderMessage) and verdict.accepted:
            writer = event.instance, event.incarnation
            assert leader(before) == writer == self.leaders.get(event.leader_epoch), "only the leader writes"
            assert event.leader_epoch == max(self.leaders), "no leader writes after its successor"
        self._removals(before, after, event)
        self._settles(before, after)
        self.departed |= lives(before) - lives(after)

    def _passes(self, before: ClusterState, after: ClusterState, time_ms: int) -> None:
        ticks = after.clock.now_ms - before.clock.now_ms
        gap_ms = before.settings.gap_ms if before.settings else 0
        if self._unbounded:
            gap_ms = COUNT_MAX
        assert 0 <= ticks <= gap_ms, "between two records no more passes than the gap"
        if before.settings is not None:
            self.passed += min(max(0, time_ms - self._time_ms), gap_ms)
        self._time_ms = time_ms

    def _hear(self, before: ClusterState, event: MemberEvent, verdict: Verdict) -> None:
        life = event.instance, event.incarnation
        alive = life in lives(before)
        if alive and event.seq <= self._sent.get(life, 0):
            assert verdict.reason is Reason.DUPLICATE, "a repeated message is refused"
        elif alive or (verdict.accepted and isinstance(event, JoinMessage)):
            self._sent[life], self.heard[life] = event.seq, self.passed
            if isinstance(event, AckMessage) and event.state_hash == before.view.state_hash:
                self._acked.add((life, event.epoch))

    @staticmethod
    def _structure(after: ClusterState) -> None:
        ids = [member.instance for member in after.members]
        joins = [member.join_offset for member in after.members]
        assert len(set(ids)) == len(ids), "one life for each instance"
        assert joins == sorted(set(joins)), "the order is that of the joins"
        assert [after.view.leader] == [each for each in ids if each == after.view.leader] or not ids, "one leader"
        lead = next((each for each in after.members if each.instance == after.view.leader), None)
        drains = [each.draining for each in after.members]
        assert lead is None or not lead.draining or all(drains), "one that drains leads only if all do"
        assert after.view.settled <= after.view.epoch <= after.offset, "nothing is settled before it is agreed"
        assert after.view.leader_epoch <= after.view.epoch, "a change of the leader is a change of the view"

    def _order(self, before: ClusterState, after: ClusterState) -> None:
        was, now = [member.life for member in before.members], [member.life for member in after.members]
        stay = [life for life in was if life in now]
        assert now[: len(stay)] == stay, "those that stay keep their order, before all new ones"
        assert not set(now) - set(was) & self.departed, "the dead stay dead"
        changed = was != now or leader(before) != leader(after)
        assert (after.view.epoch == after.offset) == changed, "the view changes with members and leader, and only then"
        if not changed:
            assert after.view.epoch == before.view.epoch, "the view changes only at its epoch"

    def _leads(self, before: ClusterState, after: ClusterState, event: MemberEvent | Unread) -> None:
        was, now = leader(before), leader(after)
        assert (after.view.leader_epoch == after.offset) == (was != now), "another leader has another token"
        if was == now or now is None:
            return
        assert self.leaders.setdefault(after.view.leader_epoch, now) == now, "a token is of one leader"
        transferred = isinstance(event, AdminMessage) and event.transfer
        former = next((member for member in after.members if member.life == was), None)
        assert former is None or former.draining or transferred, "the leader stays"
        if not transferred:
            able = [member for member in after.members if not member.draining] or after.members
            first = min(able, key=lambda member: (member.priority, member.join_offset))
            assert first.life == now, "the first by priority, then by order, that is not draining"

    def _removals(self, before: ClusterState, after: ClusterState, event: MemberEvent | Unread) -> None:
        gone = [member for member in before.members if member.life not in lives(after)]
        if not gone:
            return
        assert before.settings is not None
        if isinstance(event, LeaveMessage):
            assert [member.life for member in gone] == [(event.instance, event.incarnation)], "one leaves for itself"
        elif isinstance(event, JoinMessage):
            ((instance, incarnation),) = [member.life for member in gone]
            assert instance == event.instance, "one joins for itself"
            silent = self._silent(gone[0]) >= before.settings.lease_ms
            assert silent or incarnation == event.previous, "nobody takes over a live incarnation that it does not know"
        elif isinstance(event, ProposeMessage):
            self._evictions(before, after, event, gone)
        else:
            assert isinstance(event, AdminMessage), "only some messages remove members"
            assert event.evict is not None, "only one command removes members"
            assert [member.instance for member in gone] == [event.evict.target], "a command removes its target"

    def _evictions(
        self, before: ClusterState, after: ClusterState, event: ProposeMessage, gone: list[ClusterMember]
    ) -> None:
        its = before.settings
        assert its is not None
        assert sorted(member.instance for member in gone) == sorted(event.remove), "all or none"
        assert event.base_epoch == before.view.epoch, "of two proposals for a view one counts"
        assert not before.frozen, "nobody is evicted from a frozen cluster"
        for member in gone:
            if event.evidence is Evidence.SILENT:
                assert self._silent(member) >= its.lease_ms, "nobody is evicted within its lease"
            else:
                waited_ms = after.clock.now_ms - before.view.epoch_ms
                assert its.ack_policy is AckPolicy.EVICT, "the policy evicts the mute"
                assert (member.life, before.view.epoch) not in self._acked, "only the mute are evicted as mute"
                assert waited_ms >= its.ack_deadline_ms, "nobody is evicted before the deadline"
        recent = [at_ms for at_ms in self._evicted if after.clock.now_ms - at_ms < 2 * its.lease_ms]
        size = len(before.members) + len(recent)
        allowed = max(its.budget_min, (size - 1) * its.budget_percent // 100)
        assert len(recent) + len(gone) <= allowed, "the budget"
        self._evicted += [after.clock.now_ms] * len(gone)

    def _silent(self, member: ClusterMember) -> int:
        return self.passed - self.heard[member.life]

    def _settles(self, before: ClusterState, after: ClusterState) -> None:
        if after.view.settled == before.view.settled and after.view.degraded == before.view.degraded:
            return
        if after.view.degraded:
            assert after.settings is not None
            waited_ms = after.clock.now_ms - after.view.epoch_ms
            assert after.settings.ack_policy is AckPolicy.PROCEED, "the policy proceeds without the mute"
            assert waited_ms >= after.settings.ack_deadline_ms, "no view is degraded before the deadline"
        elif after.view.settled == after.view.epoch:
            missing = [life for life in lives(after) if (life, after.view.epoch) not in self._acked]
            assert not missing, "a view is settled when all have acknowledged it"


def but_for_the_record(state: ClusterState) -> dict[str, Any]:
    """What no refused record changes: all but where the fold is, the lease clock, and who was heard when."""
    members = [(member.life, member.join_offset, member.acked, member.properties, member.draining,
                member.suspected_by) for member in state.members]  # fmt: skip
    return {"members": members} | {
        name: getattr(state, name)
        for name in ClusterState.__dataclass_fields__
        if name not in ("offset", "clock", "members")
    }


def lives(state: ClusterState) -> set[Life]:
    """The members, each an instance and its incarnation."""
    return {member.life for member in state.members}


def leader(state: ClusterState) -> Life | None:
    """The member that leads."""
    member = state.member(state.view.leader)
    return member.life if member else None
