"""What a record of the control topic may say."""

from dataclasses import replace
from typing import Any

import pytest

from callboard.errors import Undecodable
from callboard.messages.headers import new_record
from callboard.messages.reading import Problem, Unread
from callboard.messages.topology.cluster_state import EMPTY, Barrier, ClusterMember, ClusterSettings, Departed
from callboard.messages.topology.control_messages import (
    CONTROL_MESSAGES,
    AckMessage,
    AdminMessage,
    EvictCommand,
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
from callboard.messages.topology.limits import check_event
from callboard.messages.topology.member_event import MemberEvent
from callboard.messages.topology.reading import read
from callboard.messages.topology.state_hash import state_hash

BY: dict[str, Any] = {"instance": "host-1.example", "incarnation": "f_0", "seq": 1}
BARRIER = Barrier(topic="t", log_id="l", offset=1)
SETTINGS = ClusterSettings(cluster_id="blue_1")
MEMBER = ClusterMember(instance="a", incarnation="x", join_offset=4)
STATE = replace(EMPTY, offset=9, settings=SETTINGS, members=(MEMBER,), view=replace(EMPTY.view, leader="a"))


def snapshot(**changed: Any) -> SnapshotMessage:
    state = replace(STATE, **changed)
    return SnapshotMessage(**BY, state=state, state_hash=state_hash(state))


def settings(**changed: Any) -> AdminMessage:
    return AdminMessage(**BY, base=-1, configure=replace(SETTINGS, **changed))


GOOD: list[MemberEvent] = [
    JoinMessage(**BY, previous="e_9", tags=("web",), properties=(("a.b-c_D", ""), ("b", "x" * 1024))),
    RenewMessage(**BY),
    PropertiesMessage(**BY, set=(("a", "é" * 512),), unset=("b",)),
    LeaveMessage(**BY, reason="so long\n\x00"),
    ProposeMessage(**BY, base_epoch=4, remove=("a", "b")),
    AckMessage(**BY, epoch=4, state_hash="f"),
    SuspectMessage(**BY, target="a", target_incarnation="x"),
    LeaderMessage(**BY, leader_epoch=4, payload=bytes(64 << 10)),
    AdminMessage(**BY, base=4, transfer=TransferCommand(target="a")),
    settings(lease_ms=500, gap_ms=250, ack_deadline_ms=500, budget_percent=100, budget_min=0),
    snapshot(),
]  # fmt: skip

BAD: list[tuple[str, MemberEvent]] = [
    ("instance is ''", RenewMessage(**BY | {"instance": ""})),
    ("instance is '../x'", RenewMessage(**BY | {"instance": "../x"})),
    ("instance is 'a\\\\n'", RenewMessage(**BY | {"instance": "a\n"})),
    ("incarnation", RenewMessage(**BY | {"incarnation": "x" * 101})),
    ("sequence number is 0", RenewMessage(**BY | {"seq": 0})),
    ("previous incarnation is 'a b'", JoinMessage(**BY, previous="a b")),
    ("previous incarnation is this one", JoinMessage(**BY, previous="f_0")),
    ("tag is 'a:b'", JoinMessage(**BY, tags=("a:b",))),
    ("33 tags", JoinMessage(**BY, tags=tuple(f"t{number}" for number in range(33)))),
    ("tags are not distinct", JoinMessage(**BY, tags=("t", "t"))),
    ("protocols 2 to 1", JoinMessage(**BY, protocol_min=2)),
    ("priority", JoinMessage(**BY, priority=1 << 40)),
    ("property is 'a/b'", JoinMessage(**BY, properties=(("a/b", ""),))),
    ("1025 bytes", PropertiesMessage(**BY, set=(("a", "x" * 1025),))),
    ("1026 bytes", PropertiesMessage(**BY, set=(("a", "é" * 513),))),
    ("65 properties", PropertiesMessage(**BY, set=tuple((f"p{number}", "") for number in range(65)))),
    ("16385 bytes", PropertiesMessage(**BY, set=(*((f"p{number:03}", "x" * 1020) for number in range(16)), ("p", "")))),
    ("properties are not distinct", PropertiesMessage(**BY, set=(("a", "1"), ("a", "2")))),
    ("is set and unset", PropertiesMessage(**BY, set=(("a", "1"),), unset=("a",))),
    ("property is ''", PropertiesMessage(**BY, unset=("",))),
    ("proposes no member", ProposeMessage(**BY, base_epoch=4)),
    ("members to remove are not distinct", ProposeMessage(**BY, base_epoch=4, remove=("a", "a"))),
    ("1001 members", ProposeMessage(**BY, base_epoch=4, remove=tuple(map(str, range(1001))))),
    ("barriers are not distinct", LeaveMessage(**BY, barriers=(BARRIER, replace(BARRIER, offset=2)))),
    ("65 barriers", LeaveMessage(**BY, barriers=tuple(replace(BARRIER, topic=str(number)) for number in range(65)))),
    ("target is", SuspectMessage(**BY, target="", target_incarnation="x")),
    ("payload has 65537 bytes", LeaderMessage(**BY, leader_epoch=4, payload=bytes((64 << 10) + 1))),
    ("0 commands", AdminMessage(**BY, base=4)),
    ("2 commands", AdminMessage(**BY, base=4, freeze=FreezeCommand(), evict=EvictCommand(target="a"))),
    ("target is", AdminMessage(**BY, base=4, evict=EvictCommand(target="a/b"))),
    ("barriers are not", AdminMessage(**BY, base=4, evict=EvictCommand(target="a", barriers=(BARRIER, BARRIER)))),
    ("not a cluster id", settings(cluster_id="a.b")),
    ("the protocol is 0", settings(protocol=0)),
    ("lease of 499 ms", settings(lease_ms=499, gap_ms=1)),
    ("lease of 1800001 ms", settings(lease_ms=1_800_001, ack_deadline_ms=1_800_001)),
    ("gap of 5001 ms", settings(gap_ms=5_001)),
    ("gap of 0 ms", settings(gap_ms=0)),
    ("deadline of 9999 ms", settings(ack_deadline_ms=9_999)),
    ("101 per cent", settings(budget_percent=101)),
    ("-1 members", settings(budget_min=-1)),
    ("the state has the digest", replace(snapshot(), state_hash="0" * 32)),
    ("no cluster", snapshot(settings=None)),
    ("no cluster", snapshot(stopped=5)),
    ("gap of 5001", snapshot(settings=replace(SETTINGS, gap_ms=5_001))),
    ("instance is", snapshot(members=(replace(MEMBER, instance="a/"),))),
    ("instance is", snapshot(gone=(Departed(instance="", incarnation="x", offset=1),))),
    ("order of their joins", snapshot(members=(MEMBER, replace(MEMBER, instance="b", join_offset=3)))),
    ("members are not distinct", snapshot(members=(MEMBER, replace(MEMBER, join_offset=5)))),
    ("'a' is not a member", snapshot(members=())),
    ("'b' is not a member", snapshot(view=replace(EMPTY.view, leader="b"))),
    ("properties are not distinct", snapshot(members=(replace(MEMBER, properties=(("a", "1"), ("a", "2"))),))),
]  # fmt: skip


@pytest.mark.parametrize("event", GOOD, ids=lambda event: type(event).__name__)
def test_what_is_within_the_limits_is_read_as_it_was_written(event: MemberEvent):
    assert read(new_record(event, record_id="r", time_ns=0, producer="p").at(1, 1)) == event


@pytest.mark.proves("T6", "T95")
@pytest.mark.parametrize(("why", "event"), BAD)
def test_what_is_not_is_unreadable_and_says_why(why: str, event: MemberEvent):
    with pytest.raises(Undecodable, match=why):
        check_event(event)
    found = read(new_record(event, record_id="r", time_ns=0, producer="p").at(7, 1))
    assert isinstance(found, Unread)
    assert found.problem is Problem.UNREADABLE
    assert "offset 7" in found.detail or type(event).__name__ in found.detail or found.detail


def test_every_message_has_an_example_within_the_limits():
    assert {type(event) for event in GOOD} == set(CONTROL_MESSAGES)
