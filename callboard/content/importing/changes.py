"""The paths that an import writes and removes, for the hook called after it."""

import asyncio
import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from callboard.backends.blob_store import BlobStore
from callboard.backends.repositories.paths import child_of, parent_of, with_parents
from callboard.backends.repository import Delete, EntryKind, Keep, Operation, Prune, Put, Source
from callboard.content.ship import Received
from callboard.errors import BlobError, BlobMissing, RequestRefused

SHOWN_BYTES_MAX = 8 << 10
"""Limit of the paths in one hook call: they are stored with the ledger at each import until the hook succeeds."""


@dataclass(frozen=True, slots=True)
class Change:
    """A path, and whether it was removed; otherwise it was written."""

    path: str
    removed: bool


@dataclass(frozen=True, slots=True)
class Changes:
    """The changes of an import. Written are all files, links and folders that the package brought, even if they did not
    differ; removed are the paths that existed before and no longer do. Both are sorted.

    ``written`` and ``removed`` hold the first 8 KiB of paths, and ``total`` counts all of them.
    """

    written: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    total: int = 0
    listed: Path | None = field(default=None, repr=False, compare=False)
    """A file that lists all of them, while the hook runs; see ``all``."""

    @property
    def complete(self) -> bool:
        """Whether ``written`` and ``removed`` list every change."""
        return self.total == len(self.written) + len(self.removed)

    def all(self) -> Iterator[Change]:
        """Every change, however many there are; only while the hook runs. Blocking.

        Raises:
            BlobMissing: the list is no longer in the blob store, or could not be stored. Act on ``paths`` and
                ``deep_paths`` instead: nothing outside of them has changed.
        """
        if self.complete:
            yield from (Change(path, removed=True) for path in self.removed)
            yield from (Change(path, removed=False) for path in self.written)
        elif self.listed is None:
            raise BlobMissing(
                f"the list of all {self.total} changes is not in the blob store; act on paths and deep_paths instead"
            )
        else:
            with self.listed.open(encoding="utf-8") as lines:
                yield from (Change(*json.loads(line)) for line in lines)


def find_changes(received: Sequence[Received], source: Source) -> list[Changes]:
    """The changes that each package will make when they are applied in this order. Blocking; raises the same as
    ``apply.operations``.
    """
    tree = _Tree(source)
    return [_changes(tree, each.operations()) for each in received]


async def stored_list(changes: Changes, blobs: BlobStore) -> str:
    """Put the list of all changes into the blob store; its digest, or an empty string if the store fails.

    Content does not wait for that: the hook gets the number of changes, and learns that the list is missing.
    """
    lines = [json.dumps([change.path, change.removed]).encode() + b"\n" for change in changes.all()]
    digest = hashlib.sha256(b"".join(lines)).hexdigest()
    try:
        await blobs.put(digest, lines)
    except BlobError:
        return ""
    return digest


async def fetched_list(digest: str, blobs: BlobStore, spool: Path) -> Path | None:
    """The list as a file; None if it is missing or damaged."""
    try:
        file = await blobs.fetch(digest, spool) if digest else None
    except BlobMissing:
        return None
    return file if file is not None and await asyncio.to_thread(_digest, file) == digest else None


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def shown(changes: Changes) -> Changes:
    """The part of the changes that is stored with the ledger."""
    kept: tuple[list[str], list[str]] = [], []
    room = SHOWN_BYTES_MAX
    for change in changes.all():
        room -= len(change.path.encode())
        if room < 0:
            break
        kept[change.removed].append(change.path)
    return Changes(tuple(kept[False]), tuple(kept[True]), changes.total)


def _changes(tree: "_Tree", operations: Iterator[Operation]) -> Changes:
    written: set[str] = set()
    gone: set[str] = set()
    for operation in operations:
        match operation:
            case Delete(path):
                gone.update(tree.remove(path))
            case Prune(path, keep):
                gone.update(tree.prune(path, keep))
            case Put(entry):
                gone.update(tree.put(entry.path, folder=entry.kind is EntryKind.FOLDER))
                written.add(entry.path)
            case Keep(path):
                tree.put(path, folder=True)
    removed = sorted(path for path in gone if not tree.has(path))
    return Changes(tuple(sorted(written)), tuple(removed), len(written) + len(removed))


_Node = dict[str, "_Node | None"]
"""A folder's children by name; None for a file or a link."""


class _Tree:
    """The paths of a repository: read where an operation needs them, then changed by the operations."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._top: _Node = {}
        self._read: set[str] = set()

    def has(self, path: str) -> bool:
        """Whether the path exists, in the part that was read."""
        folder = self._folder(parent_of(path))
        return path == "/" or (folder is not None and path.rpartition("/")[2] in folder)

    def put(self, path: str, *, folder: bool) -> list[str]:
        """Put a folder or a file at the path; a file that replaces a folder removes everything below it."""
        if path == "/":
            return []
        if not folder:
            self._ensure(path)
        parent, name = self._made(parent_of(path)), path.rpartition("/")[2]
        before = parent.get(name)
        if folder:
            parent[name] = before if before is not None else {}
            return []
        parent[name] = None
        return list(_below(path, before)) if before else []

    def remove(self, path: str) -> list[str]:
        """Remove the path; returns all removed paths. The root itself stays."""
        self._ensure(path)
        if path == "/":
            gone = list(_below("/", self._top))
            self._top.clear()
            return gone
        parent, name = self._folder(parent_of(path)), path.rpartition("/")[2]
        if parent is None or name not in parent:
            return []
        node = parent.pop(name)
        return [path, *(_below(path, node) if node else ())]

    def prune(self, path: str, keep: frozenset[str]) -> list[str]:
        """Remove all below the path except ``keep`` and the folders that lead there; returns the removed paths."""
        self._ensure(path)
        leading, node = with_parents(keep), self._folder(path)
        gone, ahead = [], [(path, node)] if node is not None else []
        while ahead:
            at, folder = ahead.pop()
            for name, child in list(folder.items()):
                below = child_of(at, name)
                if child is not None and below in leading:
                    ahead.append((below, child))
                elif below not in keep:
                    gone += [below, *(_below(below, child) if child else ())]
                    del folder[name]
        return gone

    def _ensure(self, path: str) -> None:
        """Read the path and everything below it, unless done already."""
        if not self._read.isdisjoint(with_parents([path])):
            return
        try:
            for entry in self._source.entries(path, deep=True):
                if self._read.isdisjoint(with_parents([entry.path])):
                    parent = self._made(parent_of(entry.path))
                    if entry.path != "/":
                        parent.setdefault(entry.path.rpartition("/")[2], {} if entry.kind is EntryKind.FOLDER else None)
        except RequestRefused:
            pass  # it does not exist, so nothing of it can be removed
        self._read.add(path)

    def _folder(self, path: str) -> _Node | None:
        node: _Node | None = self._top
        for name in path.split("/")[1:] if path != "/" else []:
            node = node.get(name) if node is not None else None
        return node

    def _made(self, path: str) -> _Node:
        node = self._top
        for name in path.split("/")[1:] if path != "/" else []:
            child = node.get(name)
            node[name] = child = {} if child is None else child
            node = child
        return node


def _below(path: str, node: _Node) -> Iterator[str]:
    ahead = [(path, node)]
    while ahead:
        at, folder = ahead.pop()
        for name, child in folder.items():
            yield (below := child_of(at, name))
            if child:
                ahead.append((below, child))
