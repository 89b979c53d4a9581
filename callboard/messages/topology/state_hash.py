"""The digest for comparing states."""

import json
from dataclasses import fields
from functools import lru_cache
from hashlib import sha256
from typing import Any

from callboard.messages.event import Event
from callboard.messages.topology.cluster_state import ClusterState

DIGITS = 32
"""Half of SHA-256 suffices to detect a difference, and every acknowledgement carries it."""

KEPT = 2000
"""Parts of states whose text is kept: few members change from one view to the next."""


def state_hash(state: ClusterState) -> str:
    """The digest of a state, the same in every version of Python and callboard.

    Fields with their default are left out, so a field that a later version adds changes the digest only once it is
    used.
    """
    told = [f'"{name}":{_items(its) if isinstance(its, tuple) else _text(its)}' for name, its in sorted(_told(state))]
    return sha256(f"{{{','.join(told)}}}".encode()).hexdigest()[:DIGITS]


def _items(values: tuple[Any, ...]) -> str:
    return f"[{','.join(map(_text, values))}]"


@lru_cache(maxsize=KEPT, typed=True)
def _text(value: Any) -> str:
    return json.dumps(_plain(value), sort_keys=True, separators=(",", ":"))


def _plain(value: Any) -> Any:
    if isinstance(value, Event):
        return {name: _plain(its) for name, its in _told(value)}
    return [_plain(each) for each in value] if isinstance(value, tuple) else value


def _told(event: Event) -> list[tuple[str, Any]]:
    """The fields that differ from their defaults."""
    named = ((field.name, field.default) for field in fields(event) if field.name != "unknown")
    return [(name, its) for name, default in named if (its := getattr(event, name)) != default]
