"""A user who may write to one folder of the content keeps swapping folders for links that lead out of it.

A child process does nothing else while packages land and content is shipped. Whatever fails, nothing
outside is read, written, removed, or given another mode.
"""

import ctypes
import hashlib
import json
import os
import resource
import shutil
import signal
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from callboard.backends.repositories.folder.store import FolderStore
from callboard.backends.repositories.folder_source import FolderSource
from callboard.backends.repositories.path_patterns import PathPatterns
from callboard.backends.repository import Delete, Operation, Prune
from callboard.board.care.tree_changes import look_at
from callboard.errors import RepositoryUnavailable, RequestRefused
from callboard.testing.conformance.repository.harness import file, folder, link

ROUNDS = 150
"""Without descriptors, each of these attacks succeeds within a third of them."""
OWN = PathPatterns(exclude=("*-decoy",))
SECRET = b"only root may read this"
_EXCHANGE = 2
_libc = ctypes.CDLL(None, use_errno=True)


class Place:
    """A folder ``inside``, in which ``open`` belongs to another user, and one ``outside``."""

    def __init__(self, base: Path) -> None:
        self.inside, self.outside = base / "inside", base / "outside"
        (self.outside / "sub").mkdir(parents=True, mode=0o751)
        for name in ("victim", "sub/victim"):
            (self.outside / name).write_bytes(SECRET)
            (self.outside / name).chmod(0o600)
        self.outside.chmod(0o751)
        self.before = self.seen()

    def seen(self) -> list[tuple[str, int, int]]:
        """Everything outside: paths, modes and inodes."""
        paths = [self.outside, *sorted(self.outside.rglob("*"))]
        return [(str(path), path.lstat().st_mode, path.lstat().st_ino) for path in paths]

    @contextmanager
    def swapped(self, name: str) -> Iterator[None]:
        """Meanwhile this folder is now itself and now a link to the outside."""
        child = os.fork()
        if child == 0:
            try:
                while True:
                    self._swap(self.inside / name)
            finally:
                os._exit(0)
        try:
            yield
        finally:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)

    def _swap(self, folder: Path) -> None:
        decoy = folder.with_name(f"{folder.name}-decoy")
        with suppress(OSError):
            if not decoy.is_symlink() and not folder.is_symlink():
                shutil.rmtree(decoy, ignore_errors=True)
                decoy.symlink_to(self.outside)
            for _ in range(20):
                _libc.renameat2(-100, os.fsencode(folder), -100, os.fsencode(decoy), _EXCHANGE)


@pytest.fixture
def place() -> Iterator[Place]:
    with tempfile.TemporaryDirectory() as base:
        yield Place(Path(base))


PACKAGES: dict[str, list[Operation]] = {
    "write": [file("/open/a/new"), file("/open/a/victim", "overwritten")],
    "write below": [file("/open/a/sub/victim", "overwritten"), link("/open/a/sub/link", "victim")],
    "delete": [Delete("/open/a/victim"), Delete("/open/a/sub")],
    "delete above": [Delete("/open/a")],
    "prune": [Prune("/open/a", frozenset(["/open/a/other"]))],
    "set a mode": [folder("/open/a", 0o777), folder("/open/a/sub", 0o777)],
}


@pytest.mark.parametrize("package", PACKAGES)
def test_an_import_into_folders_that_are_being_swapped_touches_nothing_outside(place: Place, package: str) -> None:
    store = FolderStore(place.inside)
    store.open()
    inside = [folder("/open"), file("/open/a/victim"), file("/open/a/sub/victim")]
    landed = 0
    with place.swapped("open/a"):
        for round_ in range(ROUNDS):
            for operations in (inside, PACKAGES[package]):
                with suppress(RepositoryUnavailable):
                    store.apply(operations, b"%d" % round_)
                    landed += 1
                assert place.seen() == place.before, f"round {round_}"
    store.open()
    store.apply(inside, b"at rest")
    store.close()
    assert landed, "it was never that bad"
    assert (place.inside / "open/a/sub/victim").is_file()


@pytest.mark.parametrize("path", ["/", "/open/a", "/open/a/sub/victim"])
def test_nothing_outside_is_shipped_while_folders_are_being_swapped(place: Place, path: str) -> None:
    (place.inside / "open/a/sub").mkdir(parents=True)
    for name in ("victim", "sub/victim"):
        (place.inside / "open/a" / name).write_bytes(b"x" * len(SECRET))
    read = 0
    with place.swapped("open/a"):
        for _ in range(10 * ROUNDS):
            with suppress(RequestRefused):
                for entry in FolderSource(place.inside, OWN).entries(path, deep=True):
                    assert SECRET not in b"".join(entry.open()), entry.path
                    read += 1
    assert read, "it was never that bad"


def test_a_watch_does_not_follow_a_swapped_folder_outside(place: Place) -> None:
    (place.inside / "open/a/sub").mkdir(parents=True)
    with place.swapped("open/a"):
        for _ in range(10 * ROUNDS):
            with suppress(RequestRefused):
                assert "/open/a/victim" not in look_at(place.inside, OWN)


def forge_intent(place: Place, path: str, kind: int | None, mode: int, content: str) -> None:
    """As an attacker could who replaced ``.callboard`` by another folder."""
    header = json.dumps({"format": 1, "serial": 99, "draft": 0, "ledger": 0}).encode()
    step = json.dumps(["/", 0, 0o755, "", False, True]), json.dumps([path, kind, mode, content, True, True])
    data = header + b"\n\n" + "\n".join(step).encode() + b"\n"
    (place.inside / ".callboard/intent").write_bytes(data + hashlib.sha256(data).hexdigest().encode())


@pytest.mark.parametrize(
    ("path", "kind", "mode", "content"),
    [
        ("/../outside/victim", None, 0, ""),
        ("/../outside/sub", 0, 0o777, ""),
        ("/../outside/new", 1, 0o644, "0"),
        ("/mine", 1, 0o644, "../../../outside/victim"),
        ("/mine", 0, 0o6777, ""),
    ],
)
def test_a_forged_intent_leads_nowhere(place: Place, path: str, kind: int | None, mode: int, content: str) -> None:
    (place.inside / ".callboard/stage").mkdir(parents=True)
    (place.inside / ".callboard/stage/0").touch()
    forge_intent(place, path, kind, mode, content)
    store = FolderStore(place.inside)
    with pytest.raises(RepositoryUnavailable, match="intent is damaged"):
        store.open()
    store.close()
    assert place.seen() == place.before
    assert not (place.inside / "mine").exists()


@pytest.mark.parametrize("name", ["lock", "new", "draft1", "ledger"])
def test_a_link_among_the_repositorys_own_files_is_not_written_through(place: Place, name: str) -> None:
    (place.inside / ".callboard").mkdir(parents=True)
    (place.inside / ".callboard" / name).symlink_to(place.outside / "victim")
    store = FolderStore(place.inside)
    with suppress(RepositoryUnavailable):
        store.open()
        store.save(b"draft", durable=False)
        store.save(b"ledger")
    store.close()
    assert (place.outside / "victim").read_bytes() == SECRET


def test_emptying_the_stage_does_not_follow_a_link_in_its_place(place: Place) -> None:
    (place.inside / ".callboard").mkdir(parents=True)
    (place.inside / ".callboard/stage").symlink_to(place.outside / "sub")
    store = FolderStore(place.inside)
    store.open()
    store.close()
    assert place.seen() == place.before


def test_moving_the_root_away_while_it_is_in_use_is_noticed(place: Place) -> None:
    store = FolderStore(place.inside)
    store.open()
    place.inside.rename(place.inside.with_name("moved"))
    place.inside.symlink_to(place.outside)
    with pytest.raises(RepositoryUnavailable, match="removed or exchanged"):
        store.apply([Delete("/victim")], b"")
    store.close()
    assert place.seen() == place.before


def test_the_deepest_paths_take_few_descriptors(tmp_path: Path) -> None:
    deep = "/d" * 1500
    store = FolderStore(tmp_path / "content")
    store.open()
    with descriptors(150):
        store.apply([file(f"{deep}/x"), folder(f"{deep}/y", 0o700)], b"")
        found = [entry.path for entry in FolderSource(tmp_path / "content").entries(deep, deep=True)]
        assert found == [deep, f"{deep}/x", f"{deep}/y"]
        store.apply([Delete("/d")], b"")
    store.close()
    assert os.listdir(tmp_path / "content") == [".callboard"]  # noqa: PTH208 - names


@contextmanager
def descriptors(count: int) -> Iterator[None]:
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (count, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)


def open_descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - names


@pytest.mark.parametrize("ending", ["read", "left", "refused"])
def test_every_descriptor_is_closed_after_use(place: Place, ending: str) -> None:
    store = FolderStore(place.inside)
    store.open()
    store.apply([file(f"/a/{number}/x") for number in range(100)], b"")
    before = open_descriptors()
    store.apply([file(f"/a/{number}/x") for number in range(100)], b"")
    endings: dict[str, Callable[[Iterator[object]], object]] = {
        "read": list, "left": next, "refused": lambda _: None
    }  # fmt: skip
    with suppress(RequestRefused):
        endings[ending](FolderSource(place.inside).entries("/nothing" if ending == "refused" else "/", deep=True))
    assert open_descriptors() == before
    store.close()
    assert open_descriptors() < before
