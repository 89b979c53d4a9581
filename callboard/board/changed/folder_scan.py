"""Compares a folder on disk with a published tree; reads only files that may have changed."""

import hashlib
import os
import stat
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from callboard.backends.blob_store import CHUNK_BYTES
from callboard.backends.repositories.descent import Descent
from callboard.backends.repositories.path_patterns import PathPatterns
from callboard.backends.repositories.paths import RESERVED, check_path, child_of, link_leaves_root, parent_of
from callboard.board.changed.published_tree import FOLDERS, KnownFolder, PublishedTree, Row, place_of
from callboard.content.package_format.manifest import Form
from callboard.content.placed import placed
from callboard.errors import RequestRefused

RACY_NS = 2 * 10**9
"""A file that changed less than this before the scan is read again next time, as by git: a later change of it may have
the same time, since file systems count in ticks, of up to two seconds."""


class Seen(NamedTuple):
    """An entry of a folder on disk; of a folder in it only name, mode and inode."""

    name: str
    mode: int
    inode: int
    size: int = 0
    mtime_ns: int = 0
    ctime_ns: int = 0


@dataclass(slots=True)
class Differences:
    """Paths to put and to remove; and the files and links, with their bytes, that are the same. ``entries`` counts all
    that there is below the paths, folders included.
    """

    put: list[str] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)
    same_files: int = 0
    same_bytes: int = 0
    entries: int = 0


def compare(
    folder: Path, patterns: PathPatterns, paths: Iterable[str], tree: PublishedTree, now_ns: int
) -> Differences:
    """How the folder differs from the tree, whose root it is, at and below these paths. Blocking.

    Updates what the tree knows of the folder on disk. ``now_ns`` is the time by the clock of the file system.

    Raises ``RequestRefused`` and ``OSError`` for what cannot be shipped.
    """
    found = Differences()
    with Descent(folder) as disk:
        scan = _Scan(disk, patterns, tree, now_ns - RACY_NS, found)
        for path in paths:
            local = path if tree.root == "/" else path[len(tree.root) :] or "/"
            scan.entry(local)
    return found


class _Scan:
    def __init__(
        self, disk: Descent, patterns: PathPatterns, tree: PublishedTree, settled_ns: int, found: Differences
    ) -> None:
        self._disk, self._patterns, self._tree, self._found = disk, patterns, tree, found
        self._settled_ns = settled_ns
        self._holding: set[str] = set()  # folders with something to ship in them
        self._emptied: set[str] = set()  # folders of which a subfolder has nothing to ship, perhaps not any more

    def entry(self, path: str) -> None:
        """Compare the entry at the path, and everything below it."""
        status = self._disk.status(path)
        is_folder = stat.S_ISDIR(status.st_mode)
        if not (self._patterns.leads(path) if is_folder else self._patterns.admits(path)):
            raise RequestRefused(f"{path} is not selected", code="excluded")
        if is_folder:
            self._below(path)
        else:
            self._found.entries += 1
        if self._row(path, _seen(place_of(path)[1], status), {}) != self._tree.row(self._placed(path)):
            self._found.put.append(self._placed(path))
        elif not is_folder:
            self._found.same_files += 1
            self._found.same_bytes += status.st_size

    def _below(self, top: str) -> None:
        """Compare all folders at and below the path, a folder after those in it."""
        ahead, folders = [top], list[tuple[str, str, list[Seen] | None]]()
        while ahead:
            path = ahead.pop()
            seen = self._seen_in(path)
            stamp = hashlib.blake2b(repr(seen).encode(errors="surrogateescape"), digest_size=16).hexdigest()
            known = self._tree.folder(self._placed(path))
            folders.append((path, stamp, None if known.stamp == stamp else seen))
            inside = (child_of(path, each.name) for each in seen if stat.S_ISDIR(each.mode))
            ahead += [child for child in inside if self._patterns.leads(child)]
        for path, stamp, seen_or_same in reversed(folders):
            known = self._tree.folder(self._placed(path))
            if path in self._emptied and seen_or_same is None:
                seen_or_same = self._seen_in(path)  # noqa: PLW2901
            if seen_or_same is None:
                self._found.same_files += known.files
                self._found.same_bytes += known.size
                self._found.entries += known.files
            else:
                known.stamp = stamp if self._compare_folder(path, known, seen_or_same) else ""
            if path == top:
                continue
            if self._patterns.admits(path) or path in self._holding or known.files:
                self._holding |= {parent_of(path), path}
                self._found.entries += 1
            elif seen_or_same is not None:
                self._emptied.add(parent_of(path))

    def _compare_folder(self, path: str, known: KnownFolder, seen: list[Seen]) -> bool:
        """Find the differences in one folder; whether there are none, and its entries will be known by their times."""
        now, hashed, sizes = dict[str, Row](), dict[str, list[object]](), dict[str, int]()
        for each in seen:
            child = child_of(path, each.name)
            is_folder = stat.S_ISDIR(each.mode)
            if child in self._holding if is_folder else self._patterns.admits(child):
                now[each.name] = row = self._row(check_path(child), each, known.hashed)
                if row.form not in FOLDERS:
                    sizes[each.name] = each.size
                if row.form == Form.FILE and self._is_settled(each):
                    hashed[each.name] = [*each[2:], row.content]
        before = {name: row for name, row in known.rows.items() if name}
        put = [name for name, row in now.items() if before.get(name) != row]
        gone = before.keys() - now.keys()
        self._found.put += [self._placed(child_of(path, name)) for name in put]
        self._found.gone += [self._placed(child_of(path, name)) for name in gone]
        same = sizes.keys() - put
        self._found.same_files += len(same)
        self._found.same_bytes += sum(sizes[name] for name in same)
        self._found.entries += len(sizes)
        known.hashed.clear()
        known.hashed.update(hashed)
        known.files, known.size = len(sizes), sum(sizes.values())
        return not put and not gone and all(map(self._is_settled, seen))

    def _is_settled(self, each: Seen) -> bool:
        return max(each.mtime_ns, each.ctime_ns) < self._settled_ns

    def _seen_in(self, path: str) -> list[Seen]:
        descriptor = self._disk.open_folder(path)
        try:
            with os.scandir(descriptor) as entries:
                seen = [_seen(each.name, each.stat(follow_symlinks=False)) for each in entries]
        finally:
            os.close(descriptor)
        return seen if path != "/" else [each for each in seen if each.name != RESERVED]

    def _row(self, path: str, each: Seen, hashed: dict[str, list[object]]) -> Row:
        mode = stat.S_IMODE(each.mode) & 0o777
        if stat.S_ISDIR(each.mode):
            return Row(Form.FOLDER, mode | stat.S_IRWXU)
        if stat.S_ISREG(each.mode):
            *state, digest = hashed.get(each.name, [""])
            return Row(Form.FILE, mode, str(digest) if state == [*each[2:]] else self._digest(path))
        if stat.S_ISLNK(each.mode) and not link_leaves_root(path, target := self._disk.target(path)):
            return Row(Form.LINK, 0o777, target)
        raise RequestRefused(f"{path} cannot be shipped", code="unfit")

    def _digest(self, path: str) -> str:
        sha = hashlib.sha256()
        with open(self._disk.open_file(path), "rb") as file:  # noqa: PTH123 - a descriptor, not a path
            while chunk := file.read(CHUNK_BYTES):
                sha.update(chunk)
        return sha.hexdigest()

    def _placed(self, path: str) -> str:
        return path if self._tree.root == "/" else placed(path, self._tree.root)


def _seen(name: str, status: os.stat_result) -> Seen:
    if stat.S_ISDIR(status.st_mode):
        return Seen(name, status.st_mode, status.st_ino)
    its = status
    return Seen(name, its.st_mode, its.st_ino, its.st_size, its.st_mtime_ns, its.st_ctime_ns)
