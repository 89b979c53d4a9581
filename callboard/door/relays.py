"""Checks the options of a relay."""

from collections.abc import Mapping
from typing import Any

from callboard.door.rules import Rule, checked, choice, name, place
from callboard.door.subscribers import OPTIONS as OF_SUBSCRIBERS
from callboard.errors import ConfigError

SHARED = (
    "follows", "expect", "include", "exclude", "editable", "max_retries", "parallel", "start", "on_gap",
    "on_undecodable", "skip_commands", "retry", "announce_interval_s", "claim_ttl_s", "outbox_max", "standby",
    "stop_drain_s",
)  # fmt: skip
"""The options that are those of a subscriber. A relay has no content, so neither hooks nor a quarantine."""

OPTIONS: dict[str, Rule] = {
    **{option: OF_SUBSCRIBERS[option] for option in SHARED},
    "on_give_up": choice("skip", "block"),
}
"""See ``RelayOptions``."""


def options(given: Any, ledger: Any, said: Mapping[str, Any]) -> dict[str, Any]:
    """The relay's ``name``, the place of its ``ledger``, and its options, checked and normalised.

    Raises ``ConfigError``, and ``TypeError`` for an unknown option.
    """
    rules: dict[str, Rule] = {"name": name, "ledger": place}
    return checked(ConfigError, rules, {"name": given, "ledger": ledger}) | checked(ConfigError, OPTIONS, said)
