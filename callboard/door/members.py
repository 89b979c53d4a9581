"""Checks the options of a member of a cluster, and the arguments of its methods."""

from collections.abc import Mapping
from typing import Any

from callboard.backends.fence import Token
from callboard.door import limits
from callboard.door.boards import function, plain_function
from callboard.door.rules import (
    Rule,
    Unfit,
    checked,
    choice,
    flag,
    instance_of,
    number,
    optional,
    pairs,
    plain,
    several,
    text,
    whole,
)
from callboard.errors import ConfigError, RequestRefused, Undecodable
from callboard.messages.topics import TOPIC_NAME
from callboard.messages.topology.cluster_state import Health
from callboard.messages.topology.limits import (
    BARRIERS_MAX,
    CLUSTER_ID,
    COUNT_MAX,
    LEASE_MS_MAX,
    LEASE_MS_MIN,
    NAME,
    PROPERTIES_MAX,
    TAGS_MAX,
    VALUE_BYTES_MAX,
    check_properties,
)

RENEWALS_MIN = 3
"""Renewals in a lease: one may be lost, and one late."""

RENEW_S_MIN = 0.01
"""Every member reads every renewal: a smaller number is meant in another unit."""

MARGIN_MIN, MARGIN_MAX = 0.1, 0.6
"""Less does not cover the difference between clocks; with more, renewals would have to come very often."""


def name(value: Any) -> str:
    """An instance id, a tag or the name of a property."""
    if not isinstance(value, str) or not NAME.fullmatch(value):
        raise Unfit(value, "1 to 100 of a-z, A-Z, 0-9, '.', '_' and '-'")
    return plain(value)


def cluster(value: Any) -> str:
    """A cluster id."""
    if not isinstance(value, str) or not CLUSTER_ID.fullmatch(value):
        raise Unfit(value, "1 to 100 of a-z, A-Z, 0-9, '_' and '-'")
    return plain(value)


def topic(value: Any) -> str:
    """The name of a topic."""
    if not isinstance(value, str) or not TOPIC_NAME.fullmatch(value):
        raise Unfit(value, "the name of a topic")
    return plain(value)


def property_value(value: Any) -> str:
    """The value of a property."""
    given: str = text(VALUE_BYTES_MAX)(value)
    if len(given.encode()) > VALUE_BYTES_MAX:
        raise Unfit(value, f"a text of up to {VALUE_BYTES_MAX} bytes")
    return given


def properties(value: Any) -> dict[str, str]:
    """The properties of an instance."""
    taken = pairs(name, property_value, PROPERTIES_MAX)(value)
    try:
        check_properties(taken)
    except Undecodable as error:
        raise Unfit(value, f"smaller: {error}") from None
    return dict(taken)


def tags(value: Any) -> tuple[str, ...]:
    """The tags of an instance, each once."""
    return tuple(sorted(set(several(name, TAGS_MAX)(value))))


def health(value: Any) -> Health:
    """A health."""
    if not isinstance(value, Health):
        raise Unfit(value, f"one of {', '.join(f'Health.{each.name}' for each in Health)}")
    return value


SECONDS = number(0, limits.HOUR_S)
LEASE = number(LEASE_MS_MIN / 1000, LEASE_MS_MAX / 1000)

OPTIONS: dict[str, Rule] = {
    "instance": name,
    "cluster": cluster,
    "priority": whole(-COUNT_MAX, COUNT_MAX),
    "tags": tags,
    "properties": properties,
    "profile": choice("default", "fast", "wan"),
    "lease_s": LEASE,
    "renew_s": number(RENEW_S_MIN, LEASE_MS_MAX / 1000),
    "margin": number(MARGIN_MIN, MARGIN_MAX),
    "ack_policy": choice("evict", "wait", "proceed"),
    "ack_deadline_s": LEASE,
    "min_event_delay_s": SECONDS,
    "listener_timeout_s": number(0, limits.HOUR_S, above=True),
    "streams": lambda value: tuple(dict.fromkeys(several(topic, BARRIERS_MAX)(value))),
    "backlog": function,
}
"""See ``MemberOptions``."""

ARGUMENTS: dict[str, Rule] = {
    "reason": text(limits.TEXT_CHARS_MAX),
    "callback": function,
    "critical": flag,
    "init_delay_s": SECONDS,
    "names": several(text(limits.TEXT_CHARS_MAX), PROPERTIES_MAX, least=1),
    "get": function,
    "ranking": whole(-COUNT_MAX, COUNT_MAX),
    "remote": plain_function,
    "token": instance_of(Token),
    "properties": properties,
    "epoch": optional(whole(0, limits.OFFSET_MAX)),
    "from_epoch": optional(whole(-1, limits.OFFSET_MAX)),
    "timeout_s": number(0, limits.TIMEOUT_S_MAX),
    "health": health,
    "load_permille": whole(0, 1000),
    "tag": lambda value: name(value) if value != "" else "",
    "where": optional(plain_function),
    "is_local": flag,
    "is_leader": flag,
    "cluster": text(limits.TEXT_CHARS_MAX),
    "not_cluster": text(limits.TEXT_CHARS_MAX),
    "new": flag,
    "changed": optional(flag),
}
"""The arguments of a member's methods."""

SELECTION = {name: ARGUMENTS[name] for name in ("is_local", "is_leader", "cluster", "not_cluster", "where")}
"""See ``Which``."""


def options(given: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a member, checked and normalised. Raises ``ConfigError``, and ``TypeError`` for an unknown one."""
    return checked(ConfigError, OPTIONS, given)


def asked(**arguments: Any) -> dict[str, Any]:
    """The arguments of a method, checked and normalised. Raises ``RequestRefused``."""
    return checked(RequestRefused, ARGUMENTS, arguments)


def selection(given: Mapping[str, Any]) -> None:
    """Raise ``RequestRefused`` for a selection of the wrong type, and ``TypeError`` for an unknown name."""
    checked(RequestRefused, SELECTION, given)


def demand_timing(lease_s: float, renew_s: float, margin: float, ack_deadline_s: float) -> None:
    """Raise ``ConfigError`` unless these fit together."""
    most_s = lease_s * (1 - margin) / (RENEWALS_MIN - 1)
    if renew_s > most_s:
        why = f"with a lease of {lease_s:g} s and a margin of {margin:g}"
        raise ConfigError(f"renew_s is {renew_s:g}, but should be at most {most_s:g} {why}")
    if ack_deadline_s < lease_s:
        raise ConfigError(f"ack_deadline_s is {ack_deadline_s:g}, but should be at least the lease, {lease_s:g}")
