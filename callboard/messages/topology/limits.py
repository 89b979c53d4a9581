"""The limits of the control topic's messages. They are part of the protocol: readers with other limits would compute
another state, so a changed limit needs a new protocol number.
"""

import re
from collections.abc import Callable, Collection
from typing import Any

from callboard.errors import Undecodable
from callboard.messages.distribution.topic_messages import Pairs
from callboard.messages.event import Event
from callboard.messages.topology.cluster_state import Barrier, ClusterMember, ClusterSettings, ClusterState, Departed
from callboard.messages.topology.control_messages import (
    AdminMessage,
    DrainCommand,
    EvictCommand,
    JoinMessage,
    LeaderMessage,
    LeaveMessage,
    PropertiesMessage,
    ProposeMessage,
    SnapshotMessage,
    SuspectMessage,
    TransferCommand,
)
from callboard.messages.topology.member_event import MemberEvent
from callboard.messages.topology.state_hash import state_hash

NAME = re.compile(r"[A-Za-z0-9_.-]{1,100}")
"""Ids, tags and names of properties: safe in paths, URLs and tables without escaping."""

CLUSTER_ID = re.compile(r"[A-Za-z0-9_-]{1,100}")

VALUE_BYTES_MAX = 1024
"""Properties describe an instance; they are not for sending data."""

PROPERTIES_MAX = 64
PROPERTIES_BYTES_MAX = 16 << 10
"""Names and values of one member's properties."""

TAGS_MAX = 32

PAYLOAD_BYTES_MAX = 64 << 10
"""Every member reads what the leader writes; larger content belongs into a package."""

MEMBERS_MAX = 1000
"""Every member reads every renewal: the load grows with the square of the members."""

BARRIERS_MAX = 64
"""Topics that a departed member wrote to."""

GONE_MAX = 256
"""Departed incarnations that are remembered, to refuse a late copy of their join."""

LEASE_MS_MIN, LEASE_MS_MAX = 500, 1_800_000
"""A shorter lease would run out in a short pause of a process; the longest is that of a subscriber's name."""

COUNT_MAX = 2**31 - 1
"""Bound of numbers that are only compared or displayed, such as a priority."""


def check_event(event: MemberEvent) -> None:
    """Raise ``Undecodable`` for a message that is out of bounds."""
    check_name("instance", event.instance)
    check_name("incarnation", event.incarnation)
    if event.seq <= 0:
        raise Undecodable(f"the sequence number is {event.seq}, and the first is 1")
    if (check := _CHECKS.get(type(event))) is not None:
        check(event)


def check_properties(properties: Pairs) -> None:
    """Raise ``Undecodable`` for too many or too large properties of one member."""
    check_few("properties", properties, PROPERTIES_MAX)
    total = sum(len(name) + len(value.encode()) for name, value in properties)
    most = PROPERTIES_BYTES_MAX
    demand(total <= most, f"the properties have {total} bytes, and the most is {most}")


def check_settings(settings: ClusterSettings) -> None:
    """Raise ``Undecodable`` for invalid settings."""
    its, lease = settings, f"lease of {settings.lease_ms} ms"
    demand(bool(CLUSTER_ID.fullmatch(its.cluster_id)), f"{its.cluster_id!r:.80} is not a cluster id")
    demand(1 <= its.protocol <= COUNT_MAX, f"the protocol is {its.protocol}")
    demand(LEASE_MS_MIN <= its.lease_ms <= LEASE_MS_MAX, f"the {lease} is not in {LEASE_MS_MIN} to {LEASE_MS_MAX}")
    demand(1 <= its.gap_ms <= its.lease_ms // 2, f"the gap of {its.gap_ms} ms is more than half the {lease}")
    acks = f"the acknowledgement's deadline of {its.ack_deadline_ms} ms"
    demand(its.lease_ms <= its.ack_deadline_ms, f"{acks} is shorter than the {lease}")
    demand(its.ack_deadline_ms <= COUNT_MAX, f"{acks} is more than {COUNT_MAX}")
    demand(0 <= its.budget_percent <= 100, f"a budget of {its.budget_percent} per cent")
    demand(0 <= its.budget_min <= MEMBERS_MAX, f"a budget of {its.budget_min} members is not in 0 to {MEMBERS_MAX}")


def _join(event: JoinMessage) -> None:
    if event.previous:
        check_name("previous incarnation", event.previous)
        demand(event.previous != event.incarnation, "the previous incarnation is this one")
    _standing(event)
    _barriers(event.barriers)


def _standing(said: JoinMessage | ClusterMember) -> None:
    """Check what a member declares when it joins."""
    check_few("tags", said.tags, TAGS_MAX)
    for tag in said.tags:
        check_name("tag", tag)
    check_pairs(said.properties)
    demand(1 <= said.protocol_min <= said.protocol <= COUNT_MAX, f"protocols {said.protocol_min} to {said.protocol}")
    demand(abs(said.priority) <= COUNT_MAX, f"the priority is {said.priority}")


def _properties(event: PropertiesMessage) -> None:
    check_pairs(event.set)
    check_few("unset", event.unset, PROPERTIES_MAX)
    for name in event.unset:
        check_name("property", name)
    both = {name for name, _ in event.set} & set(event.unset)
    demand(not both, f"the property {min(both, default='')} is set and unset")


def _propose(event: ProposeMessage) -> None:
    demand(bool(event.remove), "it proposes no member")
    check_few("members to remove", event.remove, MEMBERS_MAX)
    for target in event.remove:
        check_name("target", target)
    _barriers(event.barriers)


def _suspect(event: SuspectMessage) -> None:
    check_name("target", event.target)
    check_name("target's incarnation", event.target_incarnation)


def _leader(event: LeaderMessage) -> None:
    size = len(event.payload)
    demand(size <= PAYLOAD_BYTES_MAX, f"the payload has {size} bytes, and the most is {PAYLOAD_BYTES_MAX}")


def _admin(event: AdminMessage) -> None:
    demand(len(event.commands) == 1, f"it has {len(event.commands)} commands, and there must be exactly one")
    (command,) = event.commands
    if isinstance(command, EvictCommand | DrainCommand | TransferCommand):
        check_name("target", command.target)
    if isinstance(command, EvictCommand):
        _barriers(command.barriers)
    if isinstance(command, ClusterSettings):
        check_settings(command)


def _snapshot(event: SnapshotMessage) -> None:
    found = state_hash(event.state)
    demand(found == event.state_hash, f"the state has the digest {found}, not {event.state_hash!r:.80}")
    _state(event.state)


def _state(state: ClusterState) -> None:
    """Check that the state is possible, because readers start from it."""
    demand(state.settings is not None and state.stopped < 0 <= state.offset, "the state is of no cluster")
    assert state.settings is not None
    check_settings(state.settings)
    check_few("members", [member.instance for member in state.members], MEMBERS_MAX)
    lives: list[ClusterMember | Departed] = [*state.members, *state.gone]
    for life in lives:
        check_name("instance", life.instance)
        check_name("incarnation", life.incarnation)
    for member in state.members:
        _standing(member)
    joins = [member.join_offset for member in state.members]
    demand(joins == sorted(set(joins)), "the members are not in the order of their joins")
    led = state.index_of(state.view.leader) >= 0 if state.members else not state.view.leader
    demand(led, f"the leader {state.view.leader!r:.80} is not a member")
    _barriers(state.view.barriers, BARRIERS_MAX * MEMBERS_MAX)
    check_few("gone", [(each.offset, each.instance) for each in state.gone], GONE_MAX)


def check_pairs(pairs: Pairs) -> None:
    """Raise ``Undecodable`` for properties that a member cannot have."""
    for name, value in pairs:
        check_name("property", name)
        size = len(value.encode())
        demand(size <= VALUE_BYTES_MAX, f"the property {name} has {size} bytes, and the most is {VALUE_BYTES_MAX}")
    check_properties(pairs)
    _distinct("properties", [name for name, _ in pairs])


def _barriers(barriers: tuple[Barrier, ...], most: int = BARRIERS_MAX) -> None:
    check_few("barriers", [(each.topic, each.log_id) for each in barriers], most)


def check_name(what: str, value: str) -> None:
    """Raise ``Undecodable`` for an invalid id, tag or name of a property."""
    if not NAME.fullmatch(value):
        raise Undecodable(f"the {what} is {value!r:.80}; use 1 to 100 of a-z, A-Z, 0-9, '.', '_', '-'")


def check_few(what: str, given: Collection[object], most: int) -> None:
    """Raise ``Undecodable`` for more than ``most``, and for duplicates."""
    demand(len(given) <= most, f"it has {len(given)} {what}, and the most is {most}")
    _distinct(what, given)


def _distinct(what: str, given: Collection[object]) -> None:
    demand(len(set(given)) == len(given), f"its {what} are not distinct")


def demand(true: bool, otherwise: str) -> None:
    """Raise ``Undecodable`` with this message unless it is true."""
    if not true:
        raise Undecodable(otherwise)


_CHECKS: dict[type[Event], Callable[[Any], None]] = {
    JoinMessage: _join,
    PropertiesMessage: _properties,
    LeaveMessage: lambda event: _barriers(event.barriers),
    ProposeMessage: _propose,
    SuspectMessage: _suspect,
    LeaderMessage: _leader,
    AdminMessage: _admin,
    SnapshotMessage: _snapshot,
}
