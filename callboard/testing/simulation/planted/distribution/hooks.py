"""Bugs in what hooks receive."""

from typing import Any

from callboard.content.importing import changes
from callboard.testing.simulation.planted.patch import Patch


def _as_named(right: Any, self: Any, path: str, keep: frozenset[str]) -> list[str]:
    return right(self, path, keep)[:0]  # type: ignore[no-any-return]


BUGS = (Patch("hooks do not receive what a new tree leaves out", changes._Tree, "prune", _as_named),)  # noqa: SLF001 - it is what is wrong
