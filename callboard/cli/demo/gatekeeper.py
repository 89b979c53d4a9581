"""What goes wrong in the demo: a check before each import, as a subscriber of a real site may have one."""

from pathlib import Path

from callboard.actors.core.hooks import HookCall

REFUSED_BY = "refused-by"
"""In a package's metadata: the subscriber that refuses it."""
WHILE = "refused-while"
"""In a package's metadata: the file that must be there for that."""


def check(call: HookCall) -> None:
    """Refuse a package whose metadata say so."""
    metadata = dict(call.metadata)
    if metadata.get(REFUSED_BY) != call.subscriber:
        return
    if WHILE not in metadata or Path(metadata[WHILE]).exists():
        raise PermissionError(f"{call.subscriber} does not let {call.paths[0]} in")
