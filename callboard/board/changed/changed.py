"""What to send of a request: what differs from the log, if the log says with certainty what its tree is."""

import asyncio
import tempfile
import time
from collections.abc import Set
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from callboard.backends.log import Bounds
from callboard.backends.logs.walk import between
from callboard.backends.repositories.paths import parent_of, with_parents
from callboard.board.changed.folder_scan import Differences, compare
from callboard.board.changed.published_tree import PublishedTree
from callboard.board.changed.tree_cache import Kept, TreeCache, cache_file
from callboard.board.context import BoardContext
from callboard.board.read.log.log_records import entries_of, opened
from callboard.content.placed import within
from callboard.errors import BlobError, PackageError, RequestRefused, SchemaTooNew
from callboard.logger import get_logger
from callboard.messages.distribution.mailbox import DistributeRequest
from callboard.messages.distribution.topic_messages import Kind, PackageMessage
from callboard.messages.record import Record

READ_MAX = 100_000
"""Offsets read to learn the tree; a tree whose last whole package is older is sent whole."""

PATHS_MAX = 1000
"""Paths of one package, as of one that ``--watch`` ships; more are sent as the folders that they are in."""


@dataclass(frozen=True, slots=True)
class Changed:
    """What to send. ``whole``: why everything must be sent; empty if the other fields say what to send.

    ``paths`` are to be put, or removed if they are in ``gone``; those in ``deep`` with all below. If there are none,
    the log has this tree since ``offset``, the last package that touched it, -1 for none. Of the rest, ``same_files``
    with ``same_bytes`` are as on the log, and ``removed`` paths are gone. ``shipped`` is the offset of the package that
    was made for the same request id, -1 if the log has none. All is by the packages below the offset ``next``.
    """

    whole: str = ""
    paths: tuple[str, ...] = ()
    deep: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()
    offset: int = -1
    next: int = 0
    removed: int = 0
    same_files: int = 0
    same_bytes: int = 0
    shipped: int = -1

    def applied(self, request: DistributeRequest) -> DistributeRequest:
        """The request for no more than this."""
        return replace(request, paths=self.paths, deep_paths=self.deep, gone_paths=self.gone)


async def changed(board: BoardContext, publisher: str, request: DistributeRequest, old_reader: str) -> Changed:
    """Compare the folder of a request for whole trees with the log.

    Args:
        board: the open board.
        publisher: who makes the request.
        request: an ADD, of which every path is deep.
        old_reader: why a package cannot put and remove; empty if it can.
    """
    topic, root = board.topics.package, request.at or "/"
    cache = await _cache(board, publisher, request)
    fresh = PublishedTree(root, publisher, request.source_name)
    kept = await asyncio.to_thread(cache.load, fresh) if cache else Kept(fresh)
    bounds = await board.log.bounds(topic)
    is_near = bounds.first <= kept.next <= bounds.end <= kept.next + READ_MAX
    if not is_near or not await _has_last(board, kept):
        kept = Kept(PublishedTree(root, publisher, request.source_name), max(bounds.first, bounds.end - READ_MAX))
    await _read_on(board, kept, bounds)
    requested = frozenset(request.paths)
    tree, paths = kept.tree, [path for path in request.paths if not _is_below(path, requested)]
    found = await _found(board, request, tree, paths, bounds.first, old_reader)
    if cache:
        await asyncio.to_thread(_save, cache, kept)
    shipped = tree.requests.get(request.request_id, -1)
    return replace(found, offset=tree.offset, next=kept.next, shipped=shipped if shipped >= bounds.first else -1)


async def overtaken(board: BoardContext, publisher: str, request: DistributeRequest, start: int, end: int) -> bool:
    """Whether a package in ``[start, end)`` touches the paths of the request, so that a comparison came too early."""
    tops = [PublishedTree(path, publisher, request.source_name) for path in request.paths]
    async for record in between(board.log, board.topics.package, start, end):
        message = opened(record)
        if not isinstance(message, PackageMessage) or any(each.touched_by(message) for each in tops):
            return True
    return False


async def _cache(board: BoardContext, publisher: str, request: DistributeRequest) -> TreeCache | None:
    settings = board.settings
    if settings.log.startswith("memory:"):
        return None  # it ends with the process
    try:
        status = await asyncio.to_thread(Path(request.source).stat)
    except OSError:
        return None
    names = (settings.log, settings.prefix, publisher, request.source_name, request.source, request.at)
    identity = {
        "log": await board.log.identity(board.topics.package), "names": [*names[1:]],
        "folder": [status.st_dev, status.st_ino], "include": [*settings.include], "exclude": [*settings.exclude],
    }  # fmt: skip
    file = cache_file(*names)
    return TreeCache(file, identity) if file else None


async def _has_last(board: BoardContext, kept: Kept) -> bool:
    """Whether the log still has the last record that was read. An older copy that was put back, and has grown since,
    has the same identity, and other records at the same offsets.
    """
    at = kept.last[0]
    async for record in between(board.log, board.topics.package, at, at + 1):
        return _mark(record) == kept.last
    return False


def _mark(record: Record) -> tuple[int, str, int]:
    return record.offset, record.header("id"), record.time_ns


async def _read_on(board: BoardContext, kept: Kept, bounds: Bounds) -> None:
    """Add the packages up to the end of the log."""
    tree, lost = kept.tree, list[tuple[int, int]]()
    with tempfile.TemporaryDirectory(prefix="callboard-changed-") as spool:
        async for record in between(board.log, board.topics.package, kept.next, bounds.end, lost):
            message, kept.last = opened(record), _mark(record)
            if not isinstance(message, PackageMessage):
                tree.unreadable(f"offset {record.offset} cannot be decoded")
                continue
            entries = None
            try:
                if message.kind is Kind.ADD and message.publisher == tree.publisher and tree.touched_by(message):
                    entries = await entries_of(message, board.blobs, Path(spool))
            except (BlobError, PackageError, SchemaTooNew):
                pass  # the tree then has its doubts
            tree.add(message, entries, record.offset)
    if lost:
        tree.unreadable("the log was trimmed while it was read")
    kept.next = bounds.end


async def _found(
    board: BoardContext, request: DistributeRequest, tree: PublishedTree, paths: list[str], first: int, old_reader: str
) -> Changed:
    if why := tree.problem(paths, first):
        return Changed(whole=why)
    scan = partial(compare, Path(request.source), board.settings.patterns, paths, tree, time.time_ns())
    try:
        found = await asyncio.to_thread(scan)
    except (RequestRefused, OSError) as error:
        return Changed(whole=f"the folder cannot be compared: {error}")
    if not found.entries:
        return Changed(whole="there is nothing in it")
    if found.gone and old_reader:
        return Changed(whole=old_reader)
    return _gathered(found, paths)


def _gathered(found: Differences, paths: list[str]) -> Changed:
    """The differences; if there are too many paths, the deepest are replaced by the folders that they are in."""
    below = frozenset(found.gone)
    removed = {path for path in found.gone if not _is_below(path, below)}
    changes, deep = {*found.put, *removed}, set[str]()
    while len(changes) + len(deep) > PATHS_MAX:
        depth = max(map(_depth, (*changes, *deep)))
        lowest = {path for path in (*changes, *deep) if _depth(path) == depth}
        folders = {parent_of(path) for path in lowest}
        if not all(any(within(folder, path) for path in paths) for folder in folders):
            return Changed(whole=f"{len(found.put) + len(removed)} paths differ")
        changes, deep = changes - lowest, (deep - lowest) | folders
    changes = {path for path in changes if with_parents([path]).isdisjoint(deep)}
    gone = changes & removed
    deep = {path for path in deep if not _is_below(path, deep)}
    return Changed(
        paths=tuple(sorted(changes | deep)),
        deep=tuple(sorted(gone | deep)),
        gone=tuple(sorted(gone)),
        removed=len(removed),
        same_files=found.same_files,
        same_bytes=found.same_bytes,
    )


def _save(cache: TreeCache, kept: Kept) -> None:
    try:
        cache.save(kept)
    except OSError as error:
        get_logger().warning("tree_cache.not_kept", file=str(cache.file), reason=str(error))


def _depth(path: str) -> int:
    return 0 if path == "/" else path.count("/")


def _is_below(path: str, others: Set[str]) -> bool:
    return not (with_parents([path]) - {path}).isdisjoint(others)
