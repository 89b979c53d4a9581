"""The messages of the control topic, in words."""

from enum import Enum
from typing import Any

from callboard.actors.topology.joining import silence_ms
from callboard.messages.topology.cluster_state import ClusterMember, ClusterSettings, ClusterState
from callboard.messages.topology.control_messages import (
    AckMessage,
    AdminMessage,
    Evidence,
    JoinMessage,
    LeaderMessage,
    LeaveMessage,
    PropertiesMessage,
    ProposeMessage,
    SnapshotMessage,
    SuspectMessage,
)
from callboard.messages.topology.member_event import MemberEvent

TEXT_CHARS = 200
"""Characters of a reason or an author in one line; the data has all of them."""

NAMED_MAX = 5
"""Members named in one line."""


def about(event: MemberEvent) -> str:  # noqa: PLR0911 - one line a message
    """What the message asks for or tells, in a line."""
    who = event.instance
    match event:
        case JoinMessage():
            return f"{who}: joins" + (f" after {event.previous}" if event.previous else "")
        case PropertiesMessage():
            changed = [name for name, _ in event.set] + [f"-{name}" for name in event.unset]
            return f"{who}: changes properties {named(changed)}"
        case LeaveMessage():
            return f"{who}: leaves{because(event.reason)}"
        case ProposeMessage():
            why = "silent" if event.evidence is Evidence.SILENT else "no acknowledgement"
            return f"{who}: proposes to evict {named(event.remove)}, {why}{because(event.reason)}"
        case AckMessage():
            return f"{who}: acknowledges view {event.epoch}"
        case SuspectMessage():
            verb = "no longer suspects" if event.withdrawn else "suspects"
            return f"{who}: {verb} {event.target}{because(event.reason)}"
        case LeaderMessage():
            return f"{who}: writes {len(event.payload)} bytes as the leader of epoch {event.leader_epoch}"
        case AdminMessage():
            return f"{shortened(event.author) or who}: {command(event)}{because(event.reason)}"
        case SnapshotMessage():
            return f"{who}: snapshot of the state after offset {event.state.offset}"
        case _:
            return f"{who}: renews its lease"


def command(event: AdminMessage, former: ClusterSettings | None = None) -> str:
    """The command, such as ``evict a``; with the ``former`` settings, also what it changes of them."""
    if event.evict is not None:
        return f"evict {event.evict.target}"
    if event.drain is not None:
        return f"drain {event.drain.target}" if event.drain.draining else f"end the drain of {event.drain.target}"
    if event.transfer is not None:
        return f"transfer the leadership to {event.transfer.target}"
    if event.freeze is not None:
        return "freeze" if event.freeze.frozen else "unfreeze"
    return _configuration(event.configure, former) if event.configure is not None else "unknown"


def _configuration(settings: ClusterSettings, former: ClusterSettings | None) -> str:
    if former is None:
        return f"configure cluster {settings.cluster_id}"
    was, now = plain(former), plain(settings)
    changes = [f"{name} from {was[name]} to {now[name]}" for name in now if was[name] != now[name]]
    return f"configure {', '.join(changes) or 'nothing'}"


def plain(settings: ClusterSettings) -> dict[str, Any]:
    """The settings by name, without the cluster id."""
    names = [name for name in settings.__dataclass_fields__ if name not in ("unknown", "cluster_id")]
    values = {name: getattr(settings, name) for name in names}
    return {name: value.name.lower() if isinstance(value, Enum) else value for name, value in values.items()}


def evidence(state: ClusterState, member: ClusterMember, kind: Evidence) -> str:
    """Why the member may be evicted in this state, with the figures on the lease clock."""
    assert state.settings is not None, "only clusters have members"
    settings, waited_ms = state.settings, state.clock.now_ms - state.view.epoch_ms
    if kind is Evidence.NO_ACK:
        deadline_s = settings.ack_deadline_ms / 1e3
        return f"had not acknowledged view {state.view.epoch} after {waited_ms / 1e3:.1f} s, of {deadline_s:.1f}"
    return f"was silent for {silence_ms(state, member) / 1e3:.1f} s, its lease is {settings.lease_ms / 1e3:.1f} s"


def named(names: list[str] | tuple[str, ...]) -> str:
    """Some of the names, and how many more there are."""
    more = len(names) - NAMED_MAX
    return ", ".join(names[:NAMED_MAX]) + (f" and {more} more" if more > 0 else "")


def because(reason: str) -> str:
    """The reason in parentheses, if there is one."""
    return f" ({shortened(reason)})" if reason else ""


def shortened(text: str) -> str:
    """The beginning of a text by others, which may have thousands of characters."""
    return text if len(text) <= TEXT_CHARS else f"{text[:TEXT_CHARS]}..."
