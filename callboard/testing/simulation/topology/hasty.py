"""A member of another implementation, too hasty with its proposals: only the fold may prevent what they ask."""

from random import Random
from typing import Any

from callboard.actors.topology.joining import in_force, silence_ms
from callboard.messages.headers import new_record
from callboard.messages.topology.cluster_state import ClusterState
from callboard.messages.topology.control_messages import (
    AckMessage,
    Evidence,
    JoinMessage,
    LeaderMessage,
    LeaveMessage,
    ProposeMessage,
    RenewMessage,
    SuspectMessage,
)
from callboard.messages.topology.member_event import MemberEvent
from callboard.testing.simulation.topology.cluster import Cluster
from callboard.testing.simulation.topology.witness import Witness

INSTANCE = "hasty"
RENEW_S = 2.0
PROPOSES = 0.03
"""How likely it proposes an eviction at a look, writes as the leader, or suspects a member."""


class Hasty:
    """Joins, renews, acknowledges every view, and proposes to evict anybody."""

    def __init__(self, cluster: Cluster, witness: Witness, rng: Random) -> None:
        self.cluster, self.witness, self.rng = cluster, witness, rng
        self._life = self._seq = 0
        self._renewed_s = -RENEW_S
        self._acked = -1
        self._left = False

    def tick(self) -> None:
        """Say what there is to say."""
        state, now_s = self.witness.state, self.witness.now_s
        me = state.member(INSTANCE)
        if self._left or state.settings is None:
            return
        due = now_s - self._renewed_s >= RENEW_S
        if due:
            self._renewed_s = now_s
        if me is None or me.incarnation != self._incarnation:
            if due:
                self._life += 1
                previous = me.incarnation if me else ""
                self._say(JoinMessage, read_to=state.offset, previous=previous, priority=9)
            return
        if due:
            self._say(RenewMessage, read_to=state.offset)
        if self._acked != state.view.epoch:
            self._acked = state.view.epoch
            self._say(AckMessage, epoch=state.view.epoch, state_hash=state.view.state_hash)
        if len(state.members) > 1 and self.rng.random() < PROPOSES:
            self._propose(state)
        if self.rng.random() < PROPOSES:
            epoch = state.view.leader_epoch - self.rng.choice([0, 0, 1])
            self._say(LeaderMessage, leader_epoch=epoch)
        if self.rng.random() < PROPOSES:
            target = self.rng.choice(state.members)
            withdrawn = INSTANCE in target.suspected_by
            self._say(
                SuspectMessage, target=target.instance, target_incarnation=target.incarnation, withdrawn=withdrawn
            )

    def _propose(self, state: ClusterState) -> None:
        """Propose to evict all that are silent or mute, however many, or anybody."""
        others = [each for each in state.members if each.instance != INSTANCE]
        silent = [each for each in others if silence_ms(state, each) >= in_force(state).lease_ms]
        mute = [each for each in others if each.acked != state.view.epoch]
        anybody = self.rng.sample(others, self.rng.randint(1, len(others)))
        evidence = Evidence.SILENT if silent else self.rng.choice(list(Evidence))
        chosen = self.rng.choice([silent or mute or anybody, anybody])
        base = state.view.epoch - self.rng.choice([0, 0, 0, 1])
        remove = tuple(each.instance for each in chosen)
        self._say(ProposeMessage, base_epoch=base, remove=remove, evidence=evidence)

    def leave(self) -> None:
        """Leave for good."""
        me = self.witness.state.member(INSTANCE)
        if me is not None and me.incarnation == self._incarnation:
            self._say(LeaveMessage)
        self._left = True

    @property
    def _incarnation(self) -> str:
        return f"{INSTANCE}{self._life}"

    def _say(self, kind: type[MemberEvent], **said: Any) -> None:
        self._seq += 1
        event = kind(instance=INSTANCE, incarnation=self._incarnation, seq=self._seq, **said)
        number = f"{INSTANCE}/{self._incarnation}/{self._seq}"
        now_ns = self.cluster.simulation.clock.now().wall_ns
        self.cluster.append(new_record(event, record_id=number, time_ns=now_ns, producer=INSTANCE))
        self.witness.look()
