"""Random packages, applied to every repository and to a simple model."""

import asyncio
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from callboard.backends.repositories.folder import FolderRepository
from callboard.backends.repositories.sqlite import SqliteRepository
from callboard.backends.repository import Delete, EntryKind, Keep, Operation, Prune, Put, Repository
from callboard.testing.conformance.repository.harness import (
    Shape,
    a_file,
    a_folder,
    a_link,
    file,
    folder,
    link,
    shape,
    shapes,
)
from callboard.testing.fakes.memory_repository import MemoryRepository


@dataclass
class Folder:
    """A folder of the model; anything else in it is the shape of a file or link."""

    mode: int = 0o755
    children: dict[str, "Folder | Shape"] = field(default_factory=dict)

    def shapes(self, path: str) -> dict[str, Shape]:
        found: dict[str, Shape] = {}
        for name, child in sorted(self.children.items()):
            if isinstance(child, Folder):
                found[f"{path}/{name}"] = a_folder(child.mode)
                found |= child.shapes(f"{path}/{name}")
            else:
                found[f"{path}/{name}"] = child
        return found

    def make(self, names: list[str], mode: int) -> "Folder":
        """The folder at the end of the names, created if it is missing."""
        if not names:
            return self
        child = self.children.get(names[0])
        if not isinstance(child, Folder):
            child = self.children[names[0]] = Folder(mode if len(names) == 1 else 0o755)
        return child.make(names[1:], mode)

    def find(self, names: list[str]) -> "Folder | None":
        child = self.children.get(names[0]) if names else self
        if not isinstance(child, Folder):
            return None
        return child.find(names[1:]) if names else child

    def prune(self, path: str, keep: frozenset[str]) -> None:
        for name, child in list(self.children.items()):
            own = f"{path}/{name}"
            if isinstance(child, Folder) and any(kept.startswith(own + "/") for kept in keep):
                child.prune(own, keep)
            elif own not in keep:
                del self.children[name]
            elif isinstance(child, Folder):
                child.children.clear()


def carry_out(root: Folder, operation: Operation) -> None:
    path = operation.entry.path if isinstance(operation, Put) else operation.path
    names = path.split("/")[1:] if path != "/" else []
    match operation:
        case Keep():
            root.make(names, operation.mode)
        case Put() if operation.entry.kind is EntryKind.FOLDER:
            root.make(names, 0).mode = operation.entry.mode
        case Put():
            root.make(names[:-1], 0o755).children[names[-1]] = shape(operation.entry)
        case Delete():
            parent = root.find(names[:-1])
            if not names:
                root.children.clear()
            elif parent is not None:
                parent.children.pop(names[-1], None)
        case Prune():
            pruned = root.find(names)
            if pruned is not None:
                pruned.prune("" if path == "/" else path, operation.keep)


# Few names, so that operations meet; "a-" and "a0" sort around "a/".
NAMES = st.sampled_from(["a", "b", "a-", "a0"])
BELOW = st.lists(NAMES, min_size=1, max_size=4).map(lambda names: "/" + "/".join(names))
ANY = st.just("/") | BELOW
FILE_MODES = st.sampled_from([0o444, 0o600, 0o644])
FOLDER_MODES = st.sampled_from([0o555, 0o700, 0o755])
OPERATIONS = st.one_of(
    st.builds(file, BELOW, st.binary(max_size=3), FILE_MODES),
    st.builds(file, BELOW, st.binary(max_size=3), FILE_MODES),
    st.builds(folder, ANY, FOLDER_MODES),
    st.builds(link, BELOW, st.sampled_from(["a", "b/a", "."])),
    st.builds(Keep, ANY, FOLDER_MODES),
    st.builds(Delete, ANY),
    st.builds(Prune, ANY, st.frozensets(BELOW, max_size=5)),
)
PACKAGES = st.lists(st.lists(OPERATIONS, max_size=8), min_size=1, max_size=4)


async def agree(repository: Repository, packages: list[list[Operation]]) -> None:
    model = Folder()
    await repository.open()
    try:
        for number, package in enumerate(packages):
            for operation in package:
                carry_out(model, operation)
            await repository.apply(package, b"%d" % number)
            found = shapes(repository)
            assert found == model.shapes("")
            assert next(repository.entries("/", deep=False)).mode == model.mode
            assert list(found) == sorted(found, key=lambda path: path.split("/"))
            if number % 2:
                await repository.close()
            assert await repository.open() == b"%d" % number
    finally:
        await repository.close()


@settings(max_examples=80, deadline=None, database=None)
@given(PACKAGES)
def test_a_folder_repository_agrees_with_the_model(packages: list[list[Operation]]) -> None:
    with tempfile.TemporaryDirectory() as path:
        asyncio.run(agree(FolderRepository(Path(path) / "content"), packages))


@settings(max_examples=80, deadline=None, database=None)
@given(PACKAGES)
def test_a_sqlite_repository_agrees_with_the_model(packages: list[list[Operation]]) -> None:
    with tempfile.TemporaryDirectory() as path:
        asyncio.run(agree(SqliteRepository(Path(path) / "content.db"), packages))


@settings(max_examples=200, deadline=None, database=None)
@given(PACKAGES)
def test_a_memory_repository_agrees_with_the_model(packages: list[list[Operation]]) -> None:
    asyncio.run(agree(MemoryRepository(), packages))


def test_the_model_is_right_about_an_example() -> None:
    model = Folder()
    for operation in (file("/a/f", "x"), link("/l", "a"), folder("/a", 0o700), file("/l/in", "y"), Delete("/a/f")):
        carry_out(model, operation)
    assert model.shapes("") == {"/a": a_folder(0o700), "/l": a_folder(), "/l/in": a_file("y")}
    carry_out(model, link("/l", "a"))
    assert model.shapes("")["/l"] == a_link("a")
