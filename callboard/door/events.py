"""Checks distributed events, and the arguments of everything about them."""

import json
from collections.abc import Mapping
from typing import Any

from callboard.door import limits
from callboard.door.jobs import named, named_or_none, pattern, topic
from callboard.door.rules import Rule, Unfit, checked, flag, several, text, whole
from callboard.errors import RequestRefused
from callboard.messages.jobs.limits import PATTERNS_MAX


def topics(value: Any) -> tuple[str, ...]:
    """One or several patterns of topics."""
    return (pattern(value),) if isinstance(value, str) else several(pattern, PATTERNS_MAX, least=1)(value)


def properties(value: Any) -> bytes:
    """The properties of an event, as JSON."""
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise Unfit(value, "a mapping from names to what JSON can hold")
    try:
        return json.dumps(dict(value), allow_nan=False, separators=(",", ":")).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise Unfit(value, f"what JSON can hold ({error})") from error


EVENT: dict[str, Rule] = {
    "topic": topic,
    "properties": properties,
}

ARGUMENTS: dict[str, Rule] = {
    "topics": topics,
    "name": named_or_none,
    "oldest": flag,
    "after": text(limits.TEXT_CHARS_MAX),
    "limit": whole(1, limits.PAGE_MAX),
    "listener": named,
}


def event(**given: Any) -> dict[str, Any]:
    """The fields of an event to publish. Raises ``RequestRefused``."""
    return checked(RequestRefused, EVENT, given)


def asked(**given: Any) -> dict[str, Any]:
    """Arguments of the methods about events. Raises ``RequestRefused``."""
    return checked(RequestRefused, ARGUMENTS, given)
