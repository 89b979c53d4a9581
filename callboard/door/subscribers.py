"""Checks the options of a subscriber, and of a relay, which is one."""

from collections.abc import Mapping
from typing import Any

from callboard.actors.core.backoff import Backoff
from callboard.actors.subscriber.settings import NO_RESEED
from callboard.content.importing.target import ON_OCCUPIED
from callboard.door import limits
from callboard.door.rules import (
    PATTERNS,
    Rule,
    Unfit,
    checked,
    choice,
    flag,
    instance_of,
    name,
    name_or_none,
    number,
    place,
    plain,
    several,
    text,
    whole,
)
from callboard.errors import ConfigError
from callboard.messages.distribution.topic_messages import ANNOUNCE_S_MAX

FACTOR_MAX = 100.0
"""The factor of a back-off: from a millisecond to a day in four steps."""


def start(value: Any) -> str | int:
    """Where a new subscriber starts."""
    expected = f"earliest, latest, or an offset from 0 to {limits.OFFSET_MAX}"
    rule = choice("earliest", "latest") if isinstance(value, str) else whole(0, limits.OFFSET_MAX)
    try:
        begins: str | int = rule(value)
    except Unfit:
        raise Unfit(value, expected) from None
    return begins


def on_gap(value: Any) -> str:
    """What to do when the next package was trimmed away."""
    if value not in ("fail", "earliest"):
        raise Unfit(value, f"'fail' or 'earliest': {NO_RESEED}")
    return plain(value)


def hook(value: Any) -> Any:
    """A function, or its place as ``module:function``; the empty text means none."""
    if callable(value) or value == "":
        return value
    module, _, name = text(limits.PLACE_CHARS_MAX)(value).partition(":")
    if not (module and name):
        raise Unfit(value, "a function, or where one is, written as module:function, such as shop.hooks:purge_cache")
    return value


def retry(value: Any) -> Any:
    """The back-off between tries."""
    seconds = number(0, limits.DAY_S, above=True)
    backoff = _BACKOFF(value)
    if seconds(backoff.first_s) > seconds(backoff.max_s):
        raise Unfit(value, "a Backoff whose first_s is not above its max_s")
    return backoff


_BACKOFF = instance_of(
    Backoff,
    first_s=number(0, limits.DAY_S, above=True),
    max_s=number(0, limits.DAY_S, above=True),
    factor=number(1, FACTOR_MAX),
    jitter=number(0, 1),
)

OPTIONS: dict[str, Rule] = {
    "follows": several(name, limits.FOLLOWS_MAX),
    "include": PATTERNS,
    "exclude": PATTERNS,
    "expect": flag,
    "editable": flag,
    "max_retries": whole(-1, limits.RETRIES_MAX),
    "on_give_up": choice("skip", "quarantine", "block"),
    "coalesce": flag,
    "parallel": whole(1, limits.PARALLEL_MAX),
    "start": start,
    "on_gap": on_gap,
    "on_occupied": choice(*ON_OCCUPIED),
    "on_undecodable": choice("block", "dead_letter"),
    "golden": name_or_none,
    "skip_commands": several(whole(0, limits.OFFSET_MAX), limits.SKIPPED_MAX),
    "retry": retry,
    "announce_interval_s": number(limits.ANNOUNCE_S_MIN, ANNOUNCE_S_MAX),
    "claim_ttl_s": number(limits.CLAIM_S_MIN, limits.CLAIM_S_MAX),
    "outbox_max": whole(1, limits.OUTBOX_MAX),
    "standby": flag,
    "before_import": hook,
    "after_import": hook,
    "on_invalidate": hook,
    "hook_timeout_s": number(0, limits.DAY_S, above=True),
    "hook_max_retries": whole(-1, limits.RETRIES_MAX),
    "ready_idle_s": number(0, limits.HOUR_S),
    "ready_max_age_s": number(0, limits.DAY_S),
    "ready_force_s": number(0, limits.DAY_S),
    "stop_drain_s": number(0, limits.HOUR_S),
}
"""See ``SubscriberOptions``."""


def options(given: Any, into: Any, said: Mapping[str, Any]) -> dict[str, Any]:
    """The subscriber's ``name``, where it imports ``into``, and its options, checked and normalised.

    Raises ``ConfigError``, and ``TypeError`` for an unknown option.
    """
    rules: dict[str, Rule] = {"name": name, "into": place}
    taken = checked(ConfigError, rules, {"name": given, "into": into}) | checked(ConfigError, OPTIONS, said)
    if taken.get("golden") == given:
        raise ConfigError(f"subscriber {given!r} cannot wait for its own verdicts; set golden to another one, or none")
    return taken


RELAYED = (
    "follows", "expect", "include", "exclude", "editable", "max_retries", "parallel", "start", "on_gap",
    "on_undecodable", "skip_commands", "retry", "announce_interval_s", "claim_ttl_s", "outbox_max", "standby",
    "stop_drain_s",
)  # fmt: skip
"""The options that are those of a subscriber. A relay has no content, so neither hooks nor a quarantine."""

RELAY_OPTIONS: dict[str, Rule] = {
    **{option: OPTIONS[option] for option in RELAYED},
    "on_give_up": choice("skip", "block"),
}
"""See ``RelayOptions``."""


def relay_name(given: Any) -> str:
    """The name of a relay, which is that of its site. Raises ``ConfigError``."""
    found: str = checked(ConfigError, {"name": name}, {"name": given})["name"]
    return found


def relay_options(given: Any, ledger: Any, said: Mapping[str, Any]) -> dict[str, Any]:
    """The relay's ``name``, the place of its ``ledger``, and its options, checked and normalised.

    Raises ``ConfigError``, and ``TypeError`` for an unknown option.
    """
    rules: dict[str, Rule] = {"name": name, "ledger": place}
    return checked(ConfigError, rules, {"name": given, "ledger": ledger}) | checked(ConfigError, RELAY_OPTIONS, said)
