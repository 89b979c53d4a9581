"""The digest for comparing states."""

import json
from dataclasses import fields
from hashlib import sha256
from typing import Any

from callboard.messages.event import Event
from callboard.messages.topology.cluster_state import ClusterState

DIGITS = 32
"""Half of SHA-256 suffices to detect a difference, and every acknowledgement carries it."""


def state_hash(state: ClusterState) -> str:
    """The digest of a state, the same in every version of Python and callboard.

    Fields with their default are left out, so a field that a later version adds changes the digest only once it is
    used.
    """
    text = json.dumps(_plain(state), sort_keys=True, separators=(",", ":"))
    return sha256(text.encode()).hexdigest()[:DIGITS]


def _plain(value: Any) -> Any:
    if isinstance(value, Event):
        named = ((field.name, field.default) for field in fields(value) if field.name != "unknown")
        return {name: _plain(its) for name, default in named if (its := getattr(value, name)) != default}
    return [_plain(each) for each in value] if isinstance(value, tuple) else value
