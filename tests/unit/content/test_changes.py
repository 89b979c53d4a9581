"""A hook gets every path that an import writes or removes, for any operations in any order."""

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from callboard.backends.blob_stores.folder import FolderBlobStore
from callboard.backends.repository import Delete, Entry, EntryKind, Keep, Operation, Prune, Put
from callboard.content.importing.changes import (
    SHOWN_BYTES_MAX,
    Change,
    Changes,
    fetched_list,
    find_changes,
    shown,
    stored_list,
)
from callboard.errors import BlobMissing, BlobUnavailable
from tests.unit.content.conftest import Tree

PATHS = ["/a", "/a/b", "/a/b/c", "/a/d", "/e", "/e/f"]


@dataclass
class Package:
    """A package with only its operations."""

    wanted: Sequence[Operation]

    def operations(self) -> Iterator[Operation]:
        return iter(self.wanted)


def put(path: str, kind: EntryKind = EntryKind.FILE) -> Put:
    return Put(Entry(path, kind, 0o755, target="x" if kind is EntryKind.LINK else "", size=0))


def found(tree: Tree, *packages: Sequence[Operation]) -> list[Changes]:
    return find_changes([Package(each) for each in packages], tree)  # type: ignore[arg-type]


paths = some.sampled_from(PATHS)
operations = some.one_of(
    some.builds(Delete, paths | some.just("/")),
    some.builds(Prune, paths | some.just("/"), some.frozensets(paths)),
    some.builds(Keep, paths, some.just(0o755)),
    some.builds(put, paths, some.sampled_from(EntryKind)),
)


def below(path: str, folder: str) -> bool:
    return path.startswith(folder.rstrip("/") + "/") and path != "/"


def model(tree: set[str], folders: set[str], operation: Operation) -> None:
    """The paths after the operation, by the words of the repository's contract."""

    def make(path: str) -> None:
        at = ""
        for name in path.split("/")[1:] if path != "/" else []:
            at = f"{at}/{name}"
            tree.add(at)
            folders.add(at)

    def drop(path: str) -> None:
        for gone in [each for each in tree if each == path or below(each, path)]:
            tree.discard(gone)
            folders.discard(gone)
        tree.add("/")

    match operation:
        case Delete(path):
            drop(path)
        case Prune(path, keep):
            if path in folders or path == "/":
                for each in sorted(tree):
                    leads = each in folders and any(below(one, each) for one in keep)
                    if below(each, path) and each in tree and each not in keep and not leads:
                        drop(each)
        case Keep(path):
            make(path)
        case Put(entry) if entry.kind is EntryKind.FOLDER:
            make(entry.path)
        case Put(entry):
            make(entry.path.rpartition("/")[0] or "/")
            drop(entry.path)
            tree.add(entry.path)


@given(some.lists(paths), some.lists(some.lists(operations, max_size=5), min_size=1, max_size=3))
def test_the_removed_and_written_paths_of_each_package_of_an_import_are_found(there: list[str], packages: Any) -> None:
    tree, names, folders = Tree(), {"/"}, set[str]()
    for path in there:
        model(names, folders, put(path))
    for path in names - {"/"}:
        tree = tree.folder(path) if path in folders else tree.file(path, b"")
    for package, changes in zip(packages, found(tree, *packages), strict=True):
        before = set(names)
        for operation in package:
            model(names, folders, operation)
        written = {each.entry.path for each in package if isinstance(each, Put)}
        assert set(changes.written) == written
        assert before - names <= set(changes.removed), "all that went"
        assert not set(changes.removed) & names, "nothing that stays"
        assert changes.complete


def test_a_new_tree_removes_what_it_leaves_out() -> None:
    tree = Tree().folder("/blog").file("/blog/old.html", b"").file("/blog/both.html", b"").file("/else", b"")
    keep = frozenset({"/blog", "/blog/both.html", "/blog/new.html"})
    add = [put("/blog", EntryKind.FOLDER), Prune("/blog", keep), put("/blog/both.html"), put("/blog/new.html")]
    (changes,) = found(tree, add)
    assert changes.removed == ("/blog/old.html",)
    assert changes.written == ("/blog", "/blog/both.html", "/blog/new.html")


def test_a_folder_replaced_by_a_file_removes_its_content() -> None:
    (changes,) = found(Tree().folder("/a").file("/a/b", b""), [put("/a")])
    assert changes == Changes(written=("/a",), removed=("/a/b",), total=2)


def many(count: int) -> Changes:
    pages = tuple(f"/page-{number:05}.html" for number in range(count))
    return Changes(written=pages, removed=("/old",), total=count + 1)


def test_a_long_list_is_shortened_and_still_available_in_full(tmp_path: Path) -> None:
    async def scenario() -> None:
        blobs = FolderBlobStore(tmp_path / "blobs")
        changes = many(5000)
        few = shown(changes)
        assert not few.complete
        assert few.total == 5001
        assert sum(len(path) for path in (*few.written, *few.removed)) <= SHOWN_BYTES_MAX
        listed = await fetched_list(await stored_list(changes, blobs), blobs, tmp_path)
        whole = list(Changes(few.written, few.removed, few.total, listed).all())
        assert whole == [Change("/old", removed=True), *(Change(path, removed=False) for path in changes.written)]

    asyncio.run(scenario())


def test_a_missing_list_is_an_error_only_when_it_is_requested(tmp_path: Path) -> None:
    async def scenario() -> None:
        few = shown(many(5000))
        gone = await fetched_list("0" * 64, FolderBlobStore(tmp_path / "blobs"), tmp_path)
        with pytest.raises(BlobMissing, match="act on paths and deep_paths instead"):
            list(Changes(few.written, few.removed, few.total, gone).all())

    asyncio.run(scenario())


def test_a_blob_store_that_accepts_nothing_blocks_no_import() -> None:
    class Full:
        async def put(self, digest: str, chunks: object, size: int | None = None) -> bool:
            raise BlobUnavailable("read only")

    assert asyncio.run(stored_list(many(5000), Full())) == ""  # type: ignore[arg-type]
