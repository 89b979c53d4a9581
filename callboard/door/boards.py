"""Checks the options of a board and of its publishers."""

import inspect
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from callboard.content.collection import GRACE_MIN_S
from callboard.door import limits
from callboard.door.rules import (
    PATTERNS,
    Rule,
    Unfit,
    checked,
    choice,
    flag,
    instance_of,
    lasting,
    name,
    number,
    optional,
    place,
    place_or_none,
    several,
    text,
    whole,
)
from callboard.errors import ConfigError
from callboard.messages.distribution.package_event import KINDS
from callboard.messages.jobs.limits import CONTEXT_CHARS_MAX, CONTEXT_NAMES_MAX
from callboard.messages.signing import SigningKey
from callboard.messages.topics import Topics


def folder(value: Any) -> Path:
    """A folder."""
    return Path(place(value))


def function(value: Any) -> Callable[..., Any]:
    """A callable."""
    if not callable(value):
        raise Unfit(value, "a function")
    return value  # type: ignore[no-any-return]  # what it returns is the caller's business


def plain_function(value: Any) -> Callable[..., Any]:
    """A callable that is not asynchronous: where that is not expected, its coroutine would count as true."""
    if not callable(value) or inspect.iscoroutinefunction(value):
        raise Unfit(value, "a function that is not asynchronous")
    return value  # type: ignore[no-any-return]  # as above


def prefix(value: Any) -> str:
    """The prefix of the topic names."""
    given: str = text(limits.ID_CHARS_MAX)(value)
    Topics.with_prefix(given)
    return given


def grace(value: Any) -> float:
    """How long unused blobs are kept; 0 where none is ever collected."""
    most = limits.DAYS_MAX * limits.DAY_S
    given: float = number(0, most)(value)
    if 0 < given < GRACE_MIN_S:
        raise Unfit(value, f"0 for never, or {GRACE_MIN_S:g} to {most:g}")
    return given


OPTIONS: dict[str, Rule] = {
    "log": place,
    "blobs": place_or_none,
    "base": optional(folder),
    "runtime": choice("embedded", "processes"),
    "create": flag,
    "configure_logging": optional(function),
    "prefix": prefix,
    "include": PATTERNS,
    "exclude": PATTERNS,
    "signing_key": optional(instance_of(SigningKey)),
    "trusted_keys": several(instance_of(SigningKey), limits.KEYS_MAX),
    "blob_grace_s": grace,
    "archive": place_or_none,
    "blobs_for": place_or_none,
    "job_context": several(text(CONTEXT_CHARS_MAX, least=1), CONTEXT_NAMES_MAX),
}
"""See ``Callboard``."""

PUBLISHING: dict[str, Rule] = {
    "max_package_mb": optional(number(0, limits.MB_MAX, above=True)),
    "throttle_by": choice("none", "editable", "all"),
    "throttle_for": lasting(several(name, limits.NAMES_MAX)),
    "throttle_at": whole(1, limits.OFFSET_MAX),
    "throttle_max_s": number(0, limits.THROTTLE_S_MAX, above=True),
    "events": lasting(several(choice(*KINDS), len(KINDS))),
    "compress": flag,
}
"""See ``Publishing``."""


def options(given: Mapping[str, Any], **rules: Rule) -> dict[str, Any]:
    """The options of a board, checked and normalised; ``rules`` are for options that this package does not know.

    Raises ``ConfigError``.
    """
    taken = checked(ConfigError, OPTIONS | rules, given)
    _check_keys(taken["signing_key"], taken["trusted_keys"])
    return taken


def _check_keys(signing_key: SigningKey | None, trusted_keys: tuple[SigningKey, ...]) -> None:
    """A process must trust its own signing key."""
    if len({key.id for key in trusted_keys}) < len(trusted_keys):
        raise ConfigError("two of the trusted_keys have the same name; rename one of them")
    if trusted_keys and signing_key is None:
        raise ConfigError("trusted_keys without a signing_key: others would ignore this process; set that, too")
    if trusted_keys and signing_key not in trusted_keys:
        raise ConfigError(
            f"signing_key {signing_key.id if signing_key else ''!r} is not among the trusted_keys, or has another "
            "secret there, so this process would ignore its own messages; add it"
        )


def publisher(given: Any) -> str:
    """The name of a publisher. Raises ``ConfigError``."""
    found: str = checked(ConfigError, {"name": name}, {"name": given})["name"]
    return found
