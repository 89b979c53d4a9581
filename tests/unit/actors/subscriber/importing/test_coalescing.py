"""Leaving out packages that a later one supersedes: the repository must end up exactly the same."""

import asyncio
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from callboard.actors.subscriber.importing.coalescing import superseded
from callboard.backends.repositories.folder import FolderRepository
from callboard.backends.repositories.paths import parent_of
from callboard.backends.repository import EntryKind, Repository
from callboard.content.importing.receive import operations, receive_all
from callboard.content.ship import build
from callboard.messages.distribution.topic_messages import Kind, PackageMessage
from callboard.testing.conformance.repository.harness import Shape, shape
from callboard.testing.fakes.memory_blob_store import MemoryBlobStore
from callboard.testing.fakes.memory_repository import MemoryRepository, Node

SPOOL = Path(tempfile.gettempdir())
FOLDER = EntryKind.FOLDER
Tree = dict[str, Node]

MODES = st.sampled_from([0o755, 0o700])
FILES = st.builds(Node, st.just(EntryKind.FILE), MODES, st.sampled_from([b"1", b"22"]))
LINKS = st.builds(Node, st.just(EntryKind.LINK), st.just(0o777), target=st.just("x"))
FOLDERS = st.builds(Node, st.just(FOLDER), MODES)
PATHS = st.sampled_from(["/a", "/b", "/a/a", "/a/b", "/b/a", "/a/a/a", "/a/a/b", "/a/b/a"])


@dataclass
class Wish:
    """A package to build: its kind, its tree, its paths, which of them are deep, and how it is built."""

    kind: Kind
    tree: Tree
    paths: list[str]
    deep: list[str]
    inline: bool


@st.composite
def trees(draw: st.DrawFn) -> Tree:
    tree = {"/": draw(FOLDERS)}
    for path in sorted(draw(st.sets(PATHS, min_size=1))):
        if (above := tree.get(parent_of(path))) is not None and above.kind is FOLDER:
            tree[path] = draw(st.one_of(FOLDERS, FOLDERS, FILES, LINKS))
    return tree


@st.composite
def wishes(draw: st.DrawFn) -> Wish:
    tree = draw(trees())
    kind = draw(st.sampled_from([Kind.ADD, Kind.ADD, Kind.ADD, Kind.DELETE, Kind.INVALIDATE]))
    choice = st.sampled_from(sorted(tree)) if kind is Kind.ADD else st.one_of(PATHS, st.just("/"))
    paths = draw(st.lists(choice, min_size=1, max_size=2, unique=True))
    deep = [path for path in paths if draw(st.booleans())]
    return Wish(kind, tree, paths, deep, inline=draw(st.integers(0, 3)) > 0)


async def made(wish: Wish, blobs: MemoryBlobStore) -> PackageMessage:
    source = MemoryRepository()
    source.store.tree = wish.tree
    inline_max = 100_000 if wish.inline else 0
    shipment = await build(wish.kind, source, wish.paths, wish.deep, blobs=blobs, spool=SPOOL, inline_max=inline_max)
    return PackageMessage(publisher_instance="i", package_id="p", kind=wish.kind, **asdict(shipment))


async def imported(
    repository: Repository, before: PackageMessage, messages: Sequence[PackageMessage], blobs: MemoryBlobStore
) -> dict[str, Shape]:
    """What the repository holds after these packages, with one transaction for each."""
    await repository.open()
    try:
        for message in (before, *messages):
            async with receive_all([message], blobs, SPOOL, 1) as received:
                await repository.apply(operations(received), b"ledger")
        return {entry.path: shape(entry) for entry in repository.entries("/", deep=True)}
    finally:
        await repository.close()


async def compare(before: Tree, wished: list[Wish], in_folders: bool) -> None:
    blobs = MemoryBlobStore(lambda: 0)
    start = await made(Wish(Kind.ADD, before, ["/"], ["/"], inline=True), blobs)
    messages = [await made(wish, blobs) for wish in wished]
    found = superseded(list(enumerate(messages)))
    kept = [message for at, message in enumerate(messages) if at not in found]
    assert not found.keys() & set(found.values()), "the successor is imported itself"
    assert all(successor > at for at, successor in found.items())
    with tempfile.TemporaryDirectory() as folder:
        serial, coalesced = (
            FolderRepository(Path(folder, name)) if in_folders else MemoryRepository() for name in ("one", "other")
        )
        assert await imported(coalesced, start, kept, blobs) == await imported(serial, start, messages, blobs)


@pytest.mark.proves("W40")
@settings(max_examples=200, deadline=None)
@given(trees(), st.lists(wishes(), min_size=2, max_size=6))
def test_the_repository_ends_up_as_if_all_were_imported(before: Tree, wished: list[Wish]) -> None:
    asyncio.run(compare(before, wished, in_folders=False))


@settings(max_examples=60, deadline=None)
@given(trees(), st.lists(wishes(), min_size=2, max_size=6))
def test_a_folder_ends_up_as_if_all_were_imported(before: Tree, wished: list[Wish]) -> None:
    asyncio.run(compare(before, wished, in_folders=True))


def page(content: bytes, *, mode: int = 0o755, inline: bool = True, path: str = "/a/page") -> Wish:
    tree = {
        "/": Node(FOLDER, 0o755),
        "/a": Node(FOLDER, mode),
        path: Node(EntryKind.FILE, 0o644, content),
    }
    return Wish(Kind.ADD, tree, [path], [], inline)


def gone(path: str) -> Wish:
    return Wish(Kind.DELETE, {}, [path], [], inline=True)


def site(content: bytes, *, inline: bool = True) -> Wish:
    return Wish(Kind.ADD, page(content).tree, ["/"], ["/"], inline)


def left_out(*wished: Wish) -> dict[int, int]:
    async def scene() -> dict[int, int]:
        blobs = MemoryBlobStore(lambda: 0)
        return superseded([(at, await made(wish, blobs)) for at, wish in enumerate(wished)])

    return asyncio.run(scene())


@pytest.mark.proves("W40")
def test_of_a_hundred_versions_of_a_page_only_the_last_is_imported() -> None:
    assert left_out(*(page(b"%d" % number) for number in range(100))) == dict.fromkeys(range(99), 99)


@pytest.mark.parametrize("inline", [True, False])
def test_a_whole_tree_supersedes_all_packages_inside_it(inline: bool) -> None:
    before = (page(b"1"), gone("/a/page"), page(b"2", inline=False), site(b"3"), gone("/a"))
    assert left_out(*before, site(b"4", inline=inline)) == dict.fromkeys(range(5), 5)


def test_a_package_is_imported_if_a_later_one_does_not_replace_all_of_it() -> None:
    assert left_out(page(b"1"), gone("/a/page")) == {}, "the folder that leads to the page would be missing"
    assert left_out(page(b"1"), gone("/a")) == {0: 1}
    assert left_out(gone("/a"), page(b"1")) == {}, "other pages would remain"
    assert left_out(gone("/a/page"), page(b"1")) == {0: 1}
    assert left_out(page(b"1", mode=0o700), page(b"2")) == {}, "the folder would be made with another mode"
    assert left_out(page(b"1", inline=False), page(b"2")) == {}, "the mode of the folder is not known"


@pytest.mark.parametrize("inline", [True, False])
def test_a_folder_keeps_the_mode_of_the_first_package_that_created_it(inline: bool) -> None:
    """If the first were left out, the second would create the folder with another mode."""
    other = page(b"2", mode=0o700, inline=inline, path="/a/other")
    wished = [page(b"1"), other, page(b"3")]
    assert left_out(*wished) == {}
    asyncio.run(compare({"/": Node(FOLDER, 0o755)}, wished, in_folders=False))
    assert left_out(page(b"1"), page(b"2", path="/a/other"), page(b"3")) == {0: 2}


def test_an_invalidation_neither_supersedes_nor_is_superseded() -> None:
    invalidation = Wish(Kind.INVALIDATE, {}, ["/a/page"], [], inline=True)
    assert left_out(invalidation, page(b"1"), invalidation) == {}
