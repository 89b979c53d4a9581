"""The options of a member, and the settings made from them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypedDict

from callboard.actors.topology.member.settings import MemberSettings
from callboard.board.context import BoardContext
from callboard.door.members import demand_timing
from callboard.messages.topics import control_topic
from callboard.messages.topology.cluster_state import AckPolicy, Barrier, ClusterSettings


class MemberOptions(TypedDict, total=False):
    """The options of a member. Durations are in seconds.

    ``instance`` is the id of this instance, by default one that is kept in ``.callboard-member.json`` in the board's
    folder. The lowest ``priority`` leads when a leader is needed. The member that founds the cluster determines its id,
    ``cluster`` (default: a new one), and for all members ``lease_s``, ``ack_policy`` and ``ack_deadline_s``: what
    happens to a member that does not stop acting by the former view in time (``evict`` it, ``wait`` for it, or
    ``proceed`` without it). ``profile`` gives the defaults of ``lease_s`` and ``renew_s``: 10 and 2, ``fast`` 2.5 and
    0.5, ``wan`` 30 and 5. The member stops by itself when the share ``margin`` (0.3) of its lease is left.

    ``min_event_delay_s`` (1) tells listeners as one what changes within that time; 0 does not. An asynchronous listener
    is cancelled after ``listener_timeout_s`` (5). ``streams`` are topics that members write to; ``backlog`` is called
    with each ``Barrier`` of a view and returns when this process has read that topic up to it: only then is a view
    without the departed member agreed.
    """

    instance: str
    cluster: str
    priority: int
    tags: tuple[str, ...]
    properties: Mapping[str, str]
    profile: Literal["default", "fast", "wan"]
    lease_s: float
    renew_s: float
    margin: float
    ack_policy: Literal["evict", "wait", "proceed"]
    ack_deadline_s: float
    min_event_delay_s: float
    listener_timeout_s: float
    streams: tuple[str, ...]
    backlog: Callable[[Barrier], object]


class Profile(NamedTuple):
    """How often a member renews its lease, and how long that is, in seconds."""

    renew_s: float
    lease_s: float


PROFILES = {"default": Profile(2.0, 10.0), "fast": Profile(0.5, 2.5), "wan": Profile(5.0, 30.0)}

EVENT_DELAY_S = 1.0
"""Instances that start together are told as one change."""

LISTENER_S = 5.0
"""Half of the default deadline for acknowledgements."""


@dataclass(frozen=True, slots=True)
class MemberPlan:
    """A member's options, with the defaults; see ``MemberOptions``.

    ``agent`` are the settings of each of its incarnations, without the incarnation, and without an instance id if the
    kept one is to be used.
    """

    agent: MemberSettings
    event_delay_ms: int
    listener_timeout_s: float
    backlog: Callable[[Barrier], object] | None


def member_plan(options: Mapping[str, Any], board: BoardContext) -> MemberPlan:
    """The plan for these options, which the door has checked. Raises ``ConfigError`` if they do not fit together."""
    profile, margin = PROFILES[options.get("profile", "default")], options.get("margin", 0.3)
    lease_s, renew_s = options.get("lease_s", profile.lease_s), options.get("renew_s", profile.renew_s)
    deadline_s, lease_ms = options.get("ack_deadline_s", lease_s), int(lease_s * 1000)
    demand_timing(lease_s, renew_s, margin, deadline_s)
    founding = ClusterSettings(
        cluster_id=options.get("cluster") or board.new_id(),
        lease_ms=lease_ms,
        gap_ms=lease_ms // 2,
        ack_policy=AckPolicy[options.get("ack_policy", "evict").upper()],
        ack_deadline_ms=max(lease_ms, int(deadline_s * 1000)),
    )
    agent = MemberSettings(
        topic=control_topic(board.settings.prefix),
        instance=options.get("instance", ""),
        incarnation="",
        founding=founding,
        priority=options.get("priority", 0),
        tags=options.get("tags", ()),
        properties=tuple(sorted(options.get("properties", {}).items())),
        streams=options.get("streams", ()),
        renew_ms=max(1, int(renew_s * 1000)),
        margin=margin,
        pulse_ms=lease_ms // 2,
    )
    return MemberPlan(
        agent,
        event_delay_ms=int(options.get("min_event_delay_s", EVENT_DELAY_S) * 1000),
        listener_timeout_s=options.get("listener_timeout_s", LISTENER_S),
        backlog=options.get("backlog"),
    )
