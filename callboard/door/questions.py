"""Checks the arguments of a board's questions and commands."""

from collections.abc import Mapping
from typing import Any

from callboard.actors.subscriber.gates.pacing import PER_MIN_MAX
from callboard.backends.log import Retention
from callboard.content.collection import GRACE_MIN_S
from callboard.door import limits
from callboard.door.rules import (
    Rule,
    checked,
    choice,
    flag,
    instance_of,
    name,
    name_or_none,
    number,
    optional,
    path,
    place_or_none,
    several,
    shown,
    subscriber,
    text,
    whole,
)
from callboard.errors import RequestRefused
from callboard.messages.distribution.package_event import KINDS

OFFSET = whole(0, limits.OFFSET_MAX)
MOST = optional(OFFSET)

ARGUMENTS: dict[str, Rule] = {
    "subscriber": subscriber,
    "instance": name,
    "publisher": name_or_none,
    "cursor": text(limits.CURSOR_CHARS_MAX),
    "limit": whole(0, limits.PAGE_MAX),
    "offset": OFFSET,
    "epoch": OFFSET,
    "up_to": MOST,
    "first": optional(whole(1, limits.OFFSET_MAX)),
    "packages_per_min": whole(0, PER_MIN_MAX),
    "without_golden": flag,
    "path": path,
    "paths": several(path, limits.PATHS_MAX),
    "entry": text(limits.ID_CHARS_MAX),
    "kinds": several(choice(*KINDS), len(KINDS)),
    "after": optional(whole(-1, limits.OFFSET_MAX)),
    "follow": flag,
    "to": several(subscriber, limits.NAMES_MAX),
    "request_id": text(limits.ID_CHARS_MAX, printable=True),
    "source": place_or_none,
    "dry_run": flag,
    "delete": flag,
    "grace_s": number(GRACE_MIN_S, limits.DAYS_MAX * limits.DAY_S),
    "drain_s": optional(number(0, limits.HOUR_S)),
    "retention": instance_of(
        Retention,
        below_offset=MOST,
        older_than_s=optional(number(0, limits.DAYS_MAX * limits.DAY_S)),
        above_bytes=MOST,
        keep_from=MOST,
        log_id=text(limits.ID_CHARS_MAX),
    ),
    "reason": text(limits.TEXT_CHARS_MAX),
    "author": text(limits.ID_CHARS_MAX),
    "force": flag,
    "undo": flag,
    "expect": flag,
    "timeout_s": number(0, limits.TIMEOUT_S_MAX),
}
"""By name: an argument means the same wherever it appears."""

COMMAND_OPTIONS = {name: ARGUMENTS[name] for name in ("reason", "author", "force", "timeout_s")}
"""See ``CommandOptions``."""

MILLISECONDS = whole(1, limits.OFFSET_MAX)

CLUSTER_SETTINGS: dict[str, Rule] = {
    "lease_ms": MILLISECONDS,
    "gap_ms": MILLISECONDS,
    "ack_deadline_ms": MILLISECONDS,
    "ack_policy": choice("evict", "wait", "proceed"),
    "budget_percent": whole(0, 100),
    "budget_min": whole(0, limits.OFFSET_MAX),
}
"""See ``ClusterSettingsChange``. What goes together is part of the cluster's rules."""


def asked(**arguments: Any) -> dict[str, Any]:
    """The arguments, checked and normalised. Raises ``RequestRefused``."""
    return checked(RequestRefused, ARGUMENTS, arguments)


def commanded(options: Any) -> Any:
    """The options of a command, checked. Raises ``RequestRefused``, and ``TypeError`` for an unknown one."""
    return checked(RequestRefused, COMMAND_OPTIONS, options)


def clustered(settings: Any) -> Any:
    """The settings of a cluster, checked. Raises as ``commanded``."""
    if not isinstance(settings, Mapping):
        raise RequestRefused(f"settings is {shown(settings)}, but should be a mapping, such as {{'lease_ms': 20000}}")
    return checked(RequestRefused, CLUSTER_SETTINGS, settings)
