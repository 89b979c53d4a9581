"""Ships the changes in a folder."""

import asyncio
from pathlib import Path

import structlog

from callboard.backends.repositories.path_patterns import PathPatterns
from callboard.board.care.tree_changes import Changes, Tree, changes, look_at
from callboard.board.publisher import Publisher
from callboard.config.placement import Placement
from callboard.content.placed import placed
from callboard.errors import LogUnavailable, NotAnswered, RepositoryError, RequestRefused

PATHS_MAX = 1000
"""Paths in one package: subscribers import a package as a whole, and a queue's page shows all its paths."""


async def watch(
    publisher: Publisher, root: Path, place: Placement, patterns: PathPatterns, every_s: float, *, catch_up: bool
) -> None:
    """Scan the tree at intervals and ship the difference from the last scan, for ever.

    The first scan ships the whole tree if the log has no package of this publisher, or to ``catch_up``. Otherwise it is
    assumed to be shipped: changes made while nothing was watching are missed.
    """
    line = structlog.get_logger().bind(publisher=publisher.name, folder=str(root))
    shipped: Tree | None = None
    while True:
        try:
            now = await asyncio.to_thread(look_at, root, patterns)
            if shipped is None and (catch_up or not await publisher.packages()):
                await publisher.publish(root, at=place.at, source_name=place.name)
                line.info("tree.shipped", entries=len(now))
            elif shipped is None:
                line.info("tree.taken_as_shipped", advice="after changes meanwhile, start with --catch-up")
            else:
                await _ship(publisher, root, place, changes(shipped, now))
            shipped = now
        except (RequestRefused, LogUnavailable, NotAnswered, RepositoryError) as error:
            line.warning("tree.not_shipped", reason=str(error))  # not lost: ``shipped`` stays as it was
        await asyncio.sleep(every_s)


async def _ship(publisher: Publisher, root: Path, place: Placement, found: Changes) -> None:
    """Ship deletions first: an old file may be in the way of a new folder, or the reverse."""
    for start in range(0, len(found.deleted), PATHS_MAX):
        await publisher.delete([placed(path, place.at) for path in found.deleted[start : start + PATHS_MAX]])
    for start in range(0, len(found.added), PATHS_MAX):
        paths = found.added[start : start + PATHS_MAX]
        await publisher.publish(root, paths, at=place.at, deep=False, source_name=place.name)
