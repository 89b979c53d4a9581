"""A full, read-only or broken disk stops a repository, which loses nothing."""

import errno
import os
import resource
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from callboard.backends.repositories.folder.store import FolderStore
from callboard.backends.repositories.sqlite.store import SqliteStore
from callboard.backends.repositories.threaded import BlockingRepository
from callboard.errors import RepositoryUnavailable
from callboard.testing.conformance.repository.every_change import NEW, OLD
from callboard.testing.conformance.repository.harness import Shape, file, shape
from tests.ordinary_user import as_ordinary_user

FAILING_CALLS = (
    "open", "write", "fsync", "fchmod", "rename", "replace", "unlink", "rmdir", "mkdir", "symlink", "chmod",
    "listdir", "scandir", "stat", "lstat",
)  # fmt: skip

CALLS_MAX = 2000
EVERY = 1 if "CALLBOARD_LONG" in os.environ else 3
"""Every n-th call fails; the calls that fail once are not those from which on all fail."""

STORES: dict[str, Callable[[Path], BlockingRepository]] = {
    "folder": lambda path: FolderStore(path / "content"),
    "sqlite": lambda path: SqliteStore(path / "content.db"),
}


def state(store: BlockingRepository) -> tuple[bytes, dict[str, Shape]]:
    return store.open(), {entry.path: shape(entry) for entry in store.entries("/", deep=True)}


class FailingDisk:
    """Makes one call, or every call from it on, fail as if the disk were full."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.calls = 0
        self.fails: Callable[[int], bool] = lambda _: False
        for name in FAILING_CALLS:
            monkeypatch.setattr(os, name, self._failing(getattr(os, name)))

    @contextmanager
    def failing(self, when: Callable[[int], bool]) -> Iterator[None]:
        self.calls, self.fails = 0, when
        try:
            yield
        finally:
            self.fails = lambda _: False

    def _failing(self, call: Callable[..., object]) -> Callable[..., object]:
        def failing(*args: object, **kwargs: object) -> object:
            self.calls += 1
            if self.fails(self.calls):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return call(*args, **kwargs)

        return failing


def failure_of(call: Callable[[], object]) -> str:
    """The error that the caller gets; empty if all went well."""
    try:
        call()
    except RepositoryUnavailable as error:
        return str(error)
    return ""


def states_between(path: Path) -> list[tuple[bytes, dict[str, Shape]]]:
    store = FolderStore(path)
    store.open()
    states = []
    for operations, ledger in ((OLD, b"old"), (NEW, b"new")):
        store.apply(operations, ledger)
        states.append(state(store))
    store.close()
    return states


@pytest.mark.parametrize("lasting", [False, True], ids=["once", "until-repaired"])
def test_an_error_at_any_step_leaves_the_old_or_the_new_state(
    lasting: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, new = states_between(tmp_path / "both")
    disk = FailingDisk(monkeypatch)
    outcomes = []
    for step in range(1 + lasting, CALLS_MAX, EVERY):
        store = FolderStore(tmp_path / str(step))
        store.open()
        store.apply(OLD, b"old")
        with disk.failing(lambda call, step=step: call >= step if lasting else call == step):  # type: ignore[misc]
            failure = failure_of(lambda: store.apply(NEW, b"new"))  # noqa: B023 - called at once
            assert "free space" in failure or not failure
            if lasting and failure:
                assert "free space" in failure_of(store.open)
                assert "free space" in failure_of(lambda: store.save(b"other"))  # noqa: B023
            reached = disk.calls >= step
        outcomes.append(state(store))
        store.apply(NEW, b"new again")
        assert state(store) == (b"new again", new[1])
        store.close()
        if not reached:
            break
    assert outcomes[-1] == new
    assert all(outcome in (old, new) for outcome in outcomes)
    assert outcomes.count(old) > 50 // EVERY
    assert outcomes.count(new) > 50 // EVERY


def test_an_apply_after_a_failed_one_first_finishes_what_was_committed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = FolderStore(tmp_path / "content")
    store.open()
    disk = FailingDisk(monkeypatch)
    store.apply([file("/a/one")], b"one")
    intent = tmp_path / "content/.callboard/intent"
    with disk.failing(lambda _: os.access(intent, os.F_OK)), pytest.raises(RepositoryUnavailable):
        store.apply([file("/b/two")], b"two")
    assert intent.exists(), "it was committed"
    assert not (tmp_path / "content/b").exists(), "but nothing of it was carried out"
    store.apply([file("/c/three")], b"three")
    ledger, found = state(store)
    assert ledger == b"three"
    assert {"/a/one", "/b/two", "/c/three"} <= found.keys()
    store.close()


@pytest.mark.parametrize("name", STORES)
def test_a_full_disk_undoes_the_apply_and_is_reported(name: str, tmp_path: Path) -> None:
    store = STORES[name](tmp_path)
    store.open()
    store.apply(OLD, b"old")
    before = state(store)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, limits[1]))
    try:
        with pytest.raises(RepositoryUnavailable, match="then try again"):
            store.apply([*NEW, file("/huge", bytes(4 << 20))], b"new")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert state(store) == before
    store.apply(NEW, b"new")
    assert state(store)[0] == b"new"
    store.close()


@pytest.mark.parametrize("name", STORES)
def test_an_error_names_a_target_without_write_permission(name: str) -> None:
    # Not below tmp_path, which only its owner can reach.
    with tempfile.TemporaryDirectory(dir="/tmp") as path:
        Path(path).chmod(0o555)

        def body() -> str:
            with pytest.raises(RepositoryUnavailable) as caught:
                STORES[name](Path(path)).open()
            return str(caught.value)

        message = as_ordinary_user(body)
        assert f"{path}/content" in message
        assert "Permission denied; give this user write permission" in message


@pytest.mark.skipif(os.geteuid() != 0, reason="only the superuser can make a folder of another user")
def test_a_folder_of_another_user_is_refused_before_the_commit() -> None:
    with tempfile.TemporaryDirectory(dir="/tmp") as path:
        root = Path(path)
        (root / "foreign").mkdir(mode=0o755)
        root.chmod(0o777)

        def body() -> str:
            store = FolderStore(root)
            store.open(occupied=True)
            with pytest.raises(RepositoryUnavailable) as caught:
                store.apply([file("/foreign/x"), file("/mine")], b"new")
            assert store.open(occupied=True) == b""
            assert not (root / "mine").exists()
            return str(caught.value)

        assert f"{path}/foreign is not writable" in as_ordinary_user(body)
