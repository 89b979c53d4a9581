"""A board's places on this machine: a subscriber's target must not overlap the log, the blobs or a source."""

import os
from pathlib import Path

from callboard.backends.address import shown
from callboard.board.connect.settings import BoardSettings
from callboard.errors import ConfigError, RequestRefused

SQLITE = "sqlite:///"


class Territory:
    """The places of one board. Links and ``..`` are resolved, so any name of a place will do."""

    def __init__(self, settings: BoardSettings) -> None:
        self._base = settings.base
        log = settings.log.removeprefix(SQLITE) if settings.log.startswith(SQLITE) else ""  # contains its blobs
        named = [("the log", log), ("the blob store", settings.blobs)]
        named += [("the archive", place) for place in (settings.archive, settings.blobs_for)]
        self._own = [(what, path) for what, where in named if (path := self._local(where)) is not None]
        self._sources: set[Path] = set()
        self._targets: set[Path] = set()

    def add_source(self, folder: str, path: str = "/") -> None:
        """Register everything below ``path`` of this folder as shipped.

        Raises ``RequestRefused`` if it overlaps a subscriber's target.
        """
        source = Path(os.path.normpath(f"{(self._base / folder).resolve()}/{path}"))
        for target in self._targets:
            if relation := _relation(source, target):
                raise RequestRefused(
                    f"{source} cannot be shipped: it {relation} {target}, which a subscriber imports into; choose "
                    "another source, or have the subscriber import elsewhere",
                    code="overlaps",
                )
        self._sources.add(source)

    def add_target(self, into: str) -> None:
        """Register a repository that a subscriber imports into.

        Raises ``ConfigError`` if it is, contains or lies in another place of the board's.
        """
        target = self._local(into)
        if target is None:
            return
        others = [("the target", path) for path in self._targets - {target}]
        for what, path in (*self._own, *(("the source", path) for path in self._sources), *others):
            if relation := _relation(target, path):
                raise ConfigError(
                    f"a subscriber cannot import into {shown(into)}: it {relation} {what} {path}, and an "
                    "import removes what is in its way; choose a folder of its own"
                )
        self._targets.add(target)

    def _local(self, where: str) -> Path | None:
        """The folder or file of a repository, blob store or archive; None if it is not on this machine."""
        kind, colon, path = where.partition(":")
        if not colon or "/" in kind:
            kind, path = "folder", where
        return (self._base / path).resolve() if kind in ("folder", "sqlite") and path else None


def _relation(one: Path, other: Path) -> str:
    """How two paths overlap, as a verb; empty if they do not."""
    if one == other:
        return "is"
    if one in other.parents:
        return "contains"
    return "lies in" if other in one.parents else ""
