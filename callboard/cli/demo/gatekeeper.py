"""A hook that makes imports fail in the demo: a check before each import, as a real site may have one."""

from pathlib import Path

from callboard.actors.core.hooks import HookCall

REFUSED_BY = "refused-by"
"""In a package's metadata: the subscriber that refuses it."""
WHILE = "refused-while"
"""In a package's metadata: it is refused only while this file exists."""


def check(call: HookCall) -> None:
    """Refuse a package if its metadata says so."""
    metadata = dict(call.metadata)
    if metadata.get(REFUSED_BY) != call.subscriber:
        return
    if WHILE not in metadata or Path(metadata[WHILE]).exists():
        raise PermissionError(f"{call.subscriber} does not let {call.paths[0]} in")
