"""Invariants, for random records of members, strangers and operators, dated by bad clocks."""

from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from callboard.actors.topology.cluster_fold import ClusterFold
from callboard.actors.topology.reducer import fold, step
from callboard.actors.topology.verdict import Reason, Verdict
from callboard.messages.headers import new_record
from callboard.messages.record import Record, pack_headers
from callboard.messages.topology.cluster_state import EMPTY, AckPolicy, Barrier, ClusterSettings, ClusterState
from callboard.messages.topology.control_messages import (
    CONTROL_MESSAGES,
    AckMessage,
    AdminMessage,
    DrainCommand,
    EvictCommand,
    Evidence,
    FreezeCommand,
    JoinMessage,
    LeaderMessage,
    LeaveMessage,
    PropertiesMessage,
    ProposeMessage,
    RenewMessage,
    SnapshotMessage,
    SuspectMessage,
    TransferCommand,
)
from callboard.messages.topology.member_event import MemberEvent
from callboard.messages.topology.state_hash import state_hash
from callboard.testing.simulation.topology.oracle import Oracle, but_for_the_record
from tests.unit.actors.topology.control_topic import resumed

Appended = tuple[int, int, MemberEvent]

WHO = st.sampled_from("abcd")
LIFE = st.integers(1, 3)
PASSES_MS = st.sampled_from([1, 300, 900, 1_900, 2_500, 4_000, 4_999, 9_000, 100_000, -700, -50_000])
WORDS = ["join", "takeover", "renew", "renew", "renew", "renew", "all ack", "ack", "ack", "leave", "put", "suspect",
         "propose", "propose", "propose", "mute", "mute", "evict", "drain", "transfer", "freeze", "snapshot", "again",
         "configure", "lead", "lead"]  # fmt: skip
ACTION = st.tuples(st.sampled_from(WORDS), WHO, LIFE, WHO, PASSES_MS, st.integers(0, 9))
ACTIONS = st.lists(ACTION, min_size=30, max_size=90)
POLICIES = st.sampled_from(AckPolicy)


class Author:
    """Turns drawn actions into records: mostly sensible ones, by what the state is when they are appended."""

    def __init__(self, policy: AckPolicy) -> None:
        self.state, self.time_ms, self.appended = EMPTY, 10_000_000, list[Appended]()
        self.verdicts, self.oracle = list[Verdict](), Oracle()
        self._seqs: dict[str, int] = {}
        self.settings = ClusterSettings(cluster_id="c", ack_policy=policy)
        self.append(AdminMessage(**self.by("ann", 1), base=-1, configure=self.settings), 1)

    def by(self, who: str, life: int) -> dict[str, Any]:
        incarnation = f"{who}{life}"
        self._seqs[incarnation] = self._seqs.get(incarnation, 0) + 1
        return {"instance": who, "incarnation": incarnation, "seq": self._seqs[incarnation]}

    def append(self, event: MemberEvent, after_ms: int) -> None:
        self.time_ms += after_ms
        self.appended.append((self.state.offset + 2, self.time_ms, event))
        after, verdict = step(self.state, *self.appended[-1])
        self.oracle.see(*self.appended[-1], after, verdict)
        self.state = after
        self.verdicts.append(verdict)

    def act(self, word: str, who: str, life: int, other: str, after_ms: int, dice: int) -> None:
        if word == "again":
            self.append(self.appended[-1 - dice % len(self.appended)][2], after_ms)
        elif word == "all ack":
            for member in self.state.members:
                self.act("ack", member.instance, life, other, 1, 9)
        else:
            self.append(self._said(word, self._sender(word, who, life, dice), other, dice), after_ms)

    def _sender(self, word: str, who: str, life: int, dice: int) -> dict[str, Any]:
        """Mostly a member in its present life, so that it is heard."""
        members = self.state.members
        if members and dice and word != "join":
            member = self.state.member(who) or members[dice % len(members)]
            return self.by(member.instance, int(member.incarnation[1:]))
        return self.by(who, life + dice)

    def _said(self, word: str, by: dict[str, Any], other: str, dice: int) -> MemberEvent:
        view, who = self.state.view, by["instance"]
        member, target = self.state.member(who), self.state.member(other)
        epoch = view.epoch if dice else view.epoch - 2
        match word:
            case "join":
                return JoinMessage(**by, read_to=self.state.offset - dice // 9, priority=dice % 3)
            case "takeover":
                next_life = self.by(who, int(by["incarnation"][1:]) + 1)
                return JoinMessage(**next_life, read_to=self.state.offset, previous=by["incarnation"] if member else "")
            case "renew":
                return RenewMessage(**by, read_to=dice)
            case "ack":
                return AckMessage(**by, epoch=epoch, state_hash=view.state_hash if dice > 1 else "0")
            case "leave":
                return LeaveMessage(**by, barriers=(Barrier(topic="t", log_id="l", offset=dice),))
            case "put":
                return PropertiesMessage(**by, set=((f"p{dice % 3}", str(dice)),), unset=(f"p{dice % 3 + 3}",))
            case "suspect":
                life = target.incarnation if target else "x"
                return SuspectMessage(**by, target=other, target_incarnation=life, withdrawn=dice % 2 == 0)
            case "lead":
                return LeaderMessage(**by, leader_epoch=view.leader_epoch if dice else max(self.oracle.leaders) - 2)
            case "propose" | "mute":
                evidence = Evidence.SILENT if word == "propose" else Evidence.NO_ACK
                if dice % 2 and self.state.members:
                    other = min(self.state.members, key=lambda member: member.heard_ms).instance
                remove = tuple({other: 0, "abcd"[dice % 4]: 0}) if dice > 6 else (other,)
                return ProposeMessage(**by, base_epoch=epoch, remove=remove, evidence=evidence)
            case "snapshot" if self.state.members:
                return SnapshotMessage(**by, state=self.state, state_hash=state_hash(self.state))
            case _:
                return self._command(word, other, dice)

    def _command(self, word: str, other: str, dice: int) -> MemberEvent:
        lease_ms = 4_000 + 2_000 * (dice % 4)
        commands: dict[str, dict[str, Any]] = {
            "evict": {"evict": EvictCommand(target=other)},
            "drain": {"drain": DrainCommand(target=other, draining=dice > 3)},
            "transfer": {"transfer": TransferCommand(target=other)},
            "configure": {"configure": ClusterSettings(
                cluster_id="c", lease_ms=lease_ms, gap_ms=lease_ms // 2, ack_deadline_ms=lease_ms + dice,
                ack_policy=self.settings.ack_policy)},
        }  # fmt: skip
        command = commands.get(word, {"freeze": FreezeCommand(frozen=dice > 6)})
        return AdminMessage(**self.by("ann", 1), base=self.state.changed if dice else 3, **command)


def written(policy: AckPolicy, actions: list[Any]) -> Author:
    author = Author(policy)
    for who in "abc":
        author.act("join", who, 1, "a", 1, 0)
    for action in actions:
        author.act(*action)
    return author


def as_record(offset: int, time_ms: int, event: MemberEvent) -> Record:
    return new_record(event, record_id="r", time_ns=0, producer="p").at(offset, time_ms * 1_000_000)


def folded(records: list[Record], state: ClusterState = EMPTY) -> ClusterState:
    for record in records:
        state, _ = fold(state, record)
    return state


@pytest.mark.proves("T9", "T10", "T54", "T86", "T88")
@settings(max_examples=200, deadline=None)
@given(policy=POLICIES, actions=ACTIONS)
def test_every_step_keeps_what_must_hold(policy: AckPolicy, actions: list[Any]):
    author = written(policy, actions)
    assert author.oracle.state == author.state


@settings(max_examples=60, deadline=None)
@given(policy=POLICIES, actions=ACTIONS, at=st.integers(0, 60))
def test_readers_of_the_same_bytes_come_to_the_same_state_wherever_they_pause(
    policy: AckPolicy, actions: list[Any], at: int
):
    author = written(policy, actions)
    records = [as_record(*each) for each in author.appended]
    assert folded(records[at:], folded(records[:at])) == author.state
    assert state_hash(folded(records)) == state_hash(author.state)


@settings(max_examples=60, deadline=None)
@given(policy=POLICIES, actions=ACTIONS, looks=st.sets(st.integers(0, 90)))
def test_a_fold_in_progress_equals_the_fold_one_by_one(policy: AckPolicy, actions: list[Any], looks: set[int]):
    author, fast, state = written(policy, actions), ClusterFold(), EMPTY
    for number, appended in enumerate(author.appended):
        state, verdict = step(state, *appended)
        assert fast.step(*appended) == verdict
        assert fast.step(*appended).reason in (Reason.REPLAYED, Reason.STOPPED)
        assert number not in looks or fast.state == state
    assert fast.state == state


@settings(max_examples=60, deadline=None)
@given(policy=POLICIES, actions=ACTIONS, at=st.integers(0, 60))
def test_a_fold_from_a_snapshot_equals_the_fold_of_everything(policy: AckPolicy, actions: list[Any], at: int):
    author = written(policy, actions[:at])
    held = author.state
    author.append(SnapshotMessage(**author.by("a", 1), state=held, state_hash=state_hash(held)), 1)
    since = len(author.appended) - 1
    assume(author.verdicts[-1].accepted)
    for action in actions[at:]:
        author.act(*action)
    records = [as_record(*each) for each in author.appended]
    assert resumed(records[since:])[0] == author.state == resumed(records)[0]


@settings(max_examples=100, deadline=None)
@given(policy=POLICIES, actions=ACTIONS)
def test_a_record_that_is_repeated_at_once_changes_nothing(policy: AckPolicy, actions: list[Any]):
    once, state = written(policy, actions), EMPTY
    for offset, time_ms, event in once.appended:
        state, _ = step(state, offset, time_ms, event)
        repeated, verdict = step(state, offset + 1, time_ms, event)
        assert not verdict.accepted
        assert but_for_the_record(repeated) == but_for_the_record(state)
        assert repeated.clock.now_ms == state.clock.now_ms


@settings(max_examples=100, deadline=None)
@given(policy=POLICIES, actions=ACTIONS)
def test_a_record_that_counted_once_never_counts_again(policy: AckPolicy, actions: list[Any]):
    author = written(policy, actions)
    counted = [each[2] for each, verdict in zip(author.appended, author.verdicts, strict=True) if verdict.accepted]
    for event in counted:
        author.append(event, 1)
        assert not author.verdicts[-1].accepted


@settings(max_examples=300, deadline=None)
@given(
    kind=st.sampled_from([*(cls.__name__ for cls in CONTROL_MESSAGES), "Other", ""]),
    version=st.sampled_from(["1.0", "1.99", "2.0", "x", ""]),
    payload=st.binary(max_size=80),
    time_ns=st.integers(-(2**63), 2**63 - 1),
)
def test_garbage_never_raises_and_never_changes_the_view(kind: str, version: str, payload: bytes, time_ns: int):
    state = written(AckPolicy.EVICT, []).state
    header_block = pack_headers((("type", kind), ("version", version)))
    record = Record(offset=state.offset + 1, time_ns=time_ns, payload=payload, header_block=header_block)
    after, _ = fold(state, record)
    assert after.view == state.view
    assert [member.life for member in after.members] == [member.life for member in state.members]


@settings(max_examples=100, deadline=None)
@given(actions=ACTIONS, data=st.data())
def test_damaged_records_never_raise(actions: list[Any], data: st.DataObject):
    state = EMPTY
    for each in written(AckPolicy.EVICT, actions[:20]).appended:
        record = as_record(*each)
        damaged = bytearray(record.payload)
        if damaged and data.draw(st.booleans()):
            damaged[data.draw(st.integers(0, len(damaged) - 1))] ^= data.draw(st.integers(1, 255))
        state, verdict = fold(state, Record(offset=record.offset, time_ns=record.time_ns, payload=bytes(damaged),
                                            header_block=record.header_block))  # fmt: skip
        assert verdict.offset == record.offset
