"""Only what was synced survives a loss of power, so the order in which the folder repository syncs is checked.

Every call that changes the disk is recorded, with what it leaves unsynced: the content of a file, or the names in
a folder. When the repository relies on a path, that path must not be unsynced.
"""

import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from callboard.backends.fence import Token
from callboard.backends.repositories.folder.store import FolderStore
from callboard.testing.conformance.repository.every_change import NEW, OLD


class Unsynced:
    """The paths whose content or names are not yet on the disk."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.root = root
        self.paths: set[Path] = set()
        self.moves: list[tuple[str, str, set[str]]] = []
        real = {name: getattr(os, name) for name in ("open", "write", "fsync", "fchmod", "rename", "replace")}

        def opened(path: str | Path, flags: int, *args: int, dir_fd: int | None = None) -> int:
            whole = whole_path(path, dir_fd)
            new = bool(flags & os.O_CREAT) and not whole.exists()
            descriptor: int = real["open"](path, flags, *args, dir_fd=dir_fd)
            if new:
                self.paths |= {whole, whole.parent}
            return descriptor

        def written(descriptor: int, data: bytes) -> int:
            self.paths.add(path_of(descriptor))
            return int(real["write"](descriptor, data))

        def synced(descriptor: int) -> None:
            real["fsync"](descriptor)
            self.paths.discard(path_of(descriptor))

        def replaced(source: str, target: str, *, src_dir_fd: int, dst_dir_fd: int) -> None:
            moved, onto = whole_path(source, src_dir_fd), whole_path(target, dst_dir_fd)
            self.moves.append((self.short(moved), self.short(onto), {self.short(path) for path in self.paths}))
            real["replace"](source, target, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd)
            if moved in self.paths:
                self.paths.remove(moved)
                self.paths.add(onto)
            self.paths |= {moved.parent, onto.parent}

        for name, call in {"open": opened, "write": written, "fsync": synced, "replace": replaced}.items():
            monkeypatch.setattr(os, name, call)
        for name in ("mkdir", "rmdir", "unlink", "symlink", "chmod"):
            monkeypatch.setattr(os, name, self._changing_names(name, getattr(os, name)))

    def short(self, path: Path) -> str:
        return str(path.relative_to(self.root)) if path.is_relative_to(self.root) else str(path)

    def _changing_names(self, name: str, call: Callable[..., None]) -> Callable[..., None]:
        def changing(*args: Any, dir_fd: int | None = None) -> None:
            folder = {} if dir_fd is None else {"dir_fd": dir_fd}
            path = whole_path(args[1] if name == "symlink" else args[0], dir_fd)
            call(*args, **folder)
            self.paths.add(path.readlink() if name == "chmod" else path.parent)
            if name in {"rmdir", "unlink"}:
                self.paths.discard(path)

        return changing


def whole_path(path: str | Path, folder: int | None) -> Path:
    return Path(path) if folder is None else path_of(folder) / path


def path_of(descriptor: int) -> Path:
    return Path(f"/proc/self/fd/{descriptor}").readlink()


def test_each_step_finds_what_it_relies_on_synced_to_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tmp_path / "content"
    store = FolderStore(root)
    store.open()
    store.apply(OLD, b"old")
    unsynced = Unsynced(root, monkeypatch)
    store.apply(NEW, b"new")
    store.close()

    commit, *placements, done = unsynced.moves
    assert commit[:2] == (".callboard/new", ".callboard/intent")
    assert commit[2] <= {".callboard"}, "what is staged and the intent itself are synced before the commit"
    assert len(placements) > 10
    assert placements[0][2].isdisjoint({".callboard", ".callboard/intent"}), "the commit is, before it is acted on"
    assert done[:2] == (".callboard/intent", ".callboard/ledger")
    assert done[2] <= {".callboard", ".callboard/stage"}, "the new state is, before the intent goes"


def test_a_durable_save_is_on_the_disk_when_it_returns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = FolderStore(tmp_path)
    store.open()
    unsynced = Unsynced(tmp_path, monkeypatch)
    store.save(b"durable")
    assert unsynced.paths == set()
    store.save(b"draft", durable=False)
    assert unsynced.paths == {tmp_path / ".callboard", tmp_path / ".callboard/draft1"}
    store.close()


def test_the_first_write_of_a_leader_is_on_the_disk_even_if_it_is_a_draft(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = FolderStore(tmp_path)
    store.open()
    unsynced = Unsynced(tmp_path, monkeypatch)
    for epoch in (5, 7):
        store.save(b"first", durable=False, token=Token("log", epoch))
        assert unsynced.paths == set()
    store.save(b"second", durable=False, token=Token("log", 7))
    assert unsynced.paths == {tmp_path / ".callboard", tmp_path / ".callboard/draft1"}
    store.close()


def test_a_new_repository_is_on_the_disk_when_it_is_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    unsynced = Unsynced(tmp_path, monkeypatch)
    store = FolderStore(tmp_path / "content")
    store.open()
    assert unsynced.paths <= {tmp_path / "content/.callboard/lock"}
    assert stat.S_ISDIR((tmp_path / "content/.callboard/stage").stat().st_mode)
    store.close()
