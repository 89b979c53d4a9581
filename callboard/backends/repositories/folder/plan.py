"""Turns operations into the wanted state of every path they touch.

The plan is a tree over the one on disk. It states the result instead of the changes, so its steps can be carried
out again from the start after a crash, however far the first run got.
"""

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from callboard.backends.repositories.descent import Descent, workable
from callboard.backends.repositories.paths import child_of, parent_of, with_parents
from callboard.backends.repository import MISSING_FOLDER_MODE, EntryKind
from callboard.errors import PackageRefused, RepositoryUnavailable

WHOLE_PATH_BYTES_MAX = 4095
"""The kernel's limit for the root and the path together."""


class Step(NamedTuple):
    """The wanted state of a path; ``kind`` is None for nothing.

    ``content`` is the name of the staged file, or the target of the link. For folders, ``fresh`` says that only the
    children in the plan remain, ``touched`` that its own names or mode change.
    """

    path: str
    kind: EntryKind | None
    mode: int = 0
    content: str = ""
    fresh: bool = False
    touched: bool = False


@dataclass(slots=True)
class _Node:
    kind: EntryKind | None
    mode: int = 0
    content: str = ""
    fresh: bool = False
    touched: bool = False
    owned: bool = True
    children: dict[str, "_Node"] = field(default_factory=dict)


class Plan:
    """The operations so far, over the tree on disk. Only reads the disk; raises ``OSError``."""

    def __init__(self, tree: Descent) -> None:
        self._tree = tree
        status = tree.status("/")
        self._device = status.st_dev
        self._top = _folder_on_disk(status)

    def keep(self, path: str, mode: int) -> None:
        """Want a folder; if it is missing, with this mode."""
        self._folder(path, workable(mode))

    def put_folder(self, path: str, mode: int) -> None:
        """Want a folder with this mode."""
        mode = workable(mode)
        node = self._folder(path, mode)
        if node.mode != mode:
            node.mode, node.touched = mode, True

    def put_file(self, path: str, content: str) -> None:
        """Want the staged file of this name."""
        self._set(path, _Node(EntryKind.FILE, content=content))

    def put_link(self, path: str, target: str) -> None:
        """Want a link."""
        self._set(path, _Node(EntryKind.LINK, content=target))

    def delete(self, path: str) -> None:
        """Want nothing at the path; for the root, nothing below it."""
        if path == "/":
            self._top.children.clear()
            self._top.fresh = self._top.touched = True
        elif self._find(path) is not None:
            self._set(path, _Node(None))

    def prune(self, path: str, keep: frozenset[str]) -> None:
        """Want nothing below ``path`` except ``keep`` and the folders that lead there."""
        leading = with_parents(keep)
        start = self._find(path)
        ahead = [(path, start)] if start is not None and start.kind is EntryKind.FOLDER else []
        while ahead:
            folder, node = ahead.pop()
            for name, child in list(self._children(node, folder)):
                child_path = child_of(folder, name)
                if child.kind is EntryKind.FOLDER and child_path in leading:
                    ahead.append((child_path, child))
                elif child_path not in keep:
                    self._set(child_path, _Node(None))

    def steps(self) -> list[Step]:
        """The wanted states, parents first; empty when nothing on disk needs to change."""
        steps = []
        changed = False
        ahead = [("/", self._top)]
        while ahead:
            path, node = ahead.pop()
            changed = changed or node.touched
            if node.touched and not node.owned:
                self._check_writable(path)
            steps.append(Step(path, node.kind, node.mode, node.content, node.fresh, node.touched))
            names = sorted(node.children, reverse=True)
            ahead.extend((child_of(path, name), node.children[name]) for name in names)
        return steps if changed else []

    def _set(self, path: str, node: _Node) -> None:
        self._check_length(path)
        parent = self._folder(parent_of(path), MISSING_FOLDER_MODE)
        parent.children[path.rpartition("/")[2]] = node
        parent.touched = True

    def _folder(self, path: str, mode: int) -> _Node:
        """The folder's node in the plan. It and its parents are added, as new ones where the disk has none."""
        self._check_length(path)
        node, at = self._top, "/"
        names = path.split("/")[1:] if path != "/" else []
        for depth, name in enumerate(names, 1):
            child = self._child(node, at, name)
            if child is None or child.kind is not EntryKind.FOLDER:
                new_mode = mode if depth == len(names) else MISSING_FOLDER_MODE
                child = _Node(EntryKind.FOLDER, new_mode, fresh=True, touched=True)
                node.touched = True
            node.children[name] = child
            node, at = child, child_of(at, name)
        return node

    def _find(self, path: str) -> _Node | None:
        node, at = self._top, "/"
        for name in path.split("/")[1:] if path != "/" else []:
            child = self._child(node, at, name) if node.kind is EntryKind.FOLDER else None
            if child is None:
                return None
            node, at = child, child_of(at, name)
        return node

    def _child(self, node: _Node, path: str, name: str) -> _Node | None:
        """The wanted state of a child: from the plan if it has one, else from the disk."""
        if name in node.children:
            child = node.children[name]
            return None if child.kind is None else child
        if node.fresh:
            return None
        try:
            status = self._tree.status(child_of(path, name))
        except FileNotFoundError:
            return None
        if not stat.S_ISDIR(status.st_mode):
            return _Node(EntryKind.FILE)
        if status.st_dev != self._device:
            raise RepositoryUnavailable(
                f"{self._tree.root}{child_of(path, name)} is on another file system, so content cannot be moved "
                "there in one step; unmount it, or make it the root of a repository of its own"
            )
        return _folder_on_disk(status)

    def _children(self, node: _Node, path: str) -> Iterator[tuple[str, _Node]]:
        names = set(node.children)
        if not node.fresh:
            names.update(self._tree.names(path))
        for name in names:
            child = self._child(node, path, name)
            if child is not None:
                yield name, child

    def _check_length(self, path: str) -> None:
        if len(os.fsencode(self._tree.root)) + len(path.encode()) > WHOLE_PATH_BYTES_MAX:
            raise PackageRefused(f"{path[:80]}... below {self._tree.root} is too long; use a shorter root")

    def _check_writable(self, path: str) -> None:
        """A folder owned by this user can be made writable; any other must be writable already."""
        if not self._tree.may_write(path):
            folder = self._tree.root / path[1:]
            raise RepositoryUnavailable(f"{folder} is not writable; give this user write permission")


def _folder_on_disk(status: os.stat_result) -> _Node:
    owned = status.st_uid == os.geteuid()
    mode = stat.S_IMODE(status.st_mode) & 0o777
    return _Node(EntryKind.FOLDER, workable(mode) if owned else mode, owned=owned)
