"""A subscriber with patterns has the same content as one without, as far as the patterns admit it."""

import asyncio
from pathlib import Path
from random import Random

import pytest

from callboard.backends.repositories.folder import FolderRepository
from callboard.backends.repositories.folder_source import FolderSource
from callboard.backends.repositories.path_patterns import PathPatterns
from callboard.backends.repositories.sqlite import SqliteRepository
from callboard.backends.repository import EntryKind, Source
from callboard.board.read.expected_tree import ExpectedTree
from callboard.board.read.log.log_records import entries_of
from callboard.content.importing.admission import admission
from callboard.content.importing.apply import operations
from callboard.content.ship import build
from callboard.content.survey import read_survey, survey
from callboard.messages.distribution.topic_messages import Kind, PackageMessage
from callboard.testing.fakes.memory_blob_store import MemoryBlobStore

PATTERNS = (
    PathPatterns(("/a",)),
    PathPatterns(("/a/b", "*.html")),
    PathPatterns(exclude=("/a/b",)),
    PathPatterns(exclude=("*.html", "/b")),
    PathPatterns(("/*/b/**", "/a"), ("*.html",)),
    PathPatterns(("/**/b/*",)),
)
NAMES = ("a", "b", "x.html", "y.txt")
LOCAL = "local.txt"


def files(source: Source) -> dict[str, bytes]:
    found = source.entries("/", deep=True)
    return {each.path: b"".join(each.open()) for each in found if each.kind is EntryKind.FILE}


def change(dice: Random, root: Path) -> None:
    """Make the source another one."""
    for _ in range(dice.randrange(1, 5)):
        path = root.joinpath(*(dice.choice(NAMES[:2]) for _ in range(dice.randrange(3))), dice.choice(NAMES[2:]))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(str(dice.random()))
    there = sorted(path for path in root.rglob("*") if path.is_file())
    for path in dice.sample(there, min(len(there), dice.randrange(3))):
        path.unlink()


def message(kind: Kind, paths: tuple[str, ...], **fields: object) -> PackageMessage:
    return PackageMessage(publisher_instance="i", publisher="main", package_id="p", kind=kind, paths=paths, **fields)  # type: ignore[arg-type]


async def shipped(dice: Random, root: Path, spool: Path) -> PackageMessage:
    """A package of what is there, or a deletion."""
    paths = [entry.path for entry in FolderSource(root).entries("/", deep=True)]
    chosen = tuple(sorted(dice.sample(paths, min(len(paths), dice.choice([1, 1, 1, 2])))))
    if dice.random() < 0.2:
        return message(Kind.DELETE, chosen)
    deep = tuple(path for path in chosen if dice.random() < 0.8)
    built = await build(Kind.ADD, FolderSource(root), chosen, deep, blobs=MemoryBlobStore(lambda: 0), spool=spool)
    return message(
        Kind.ADD, built.paths, deep_paths=built.deep_paths, content=built.content,
        content_digest=built.content_digest, length=built.length, entries=built.entries,
    )  # fmt: skip


@pytest.mark.parametrize("kind", ["folder", "sqlite"])
@pytest.mark.parametrize("seed", range(12))
def test_a_target_has_only_admitted_paths_and_keeps_its_own_files(tmp_path: Path, seed: int, kind: str) -> None:
    dice, root = Random(seed), tmp_path / "source"
    patterns = PATTERNS[seed % len(PATTERNS)]
    root.mkdir()

    async def work() -> None:
        blobs = MemoryBlobStore(lambda: 0)
        full = FolderRepository(tmp_path / "full")
        some = FolderRepository(tmp_path / "some") if kind == "folder" else SqliteRepository(tmp_path / "some.db")
        own = {path: b"mine" for path in (f"/{LOCAL}", f"/a/{LOCAL}", f"/b/b/{LOCAL}") if not patterns.admits(path)}
        tree = ExpectedTree(patterns)
        await full.open()
        await some.open()
        for path in own:
            (tmp_path / "own" / path[1:]).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / "own" / path[1:]).write_bytes(b"mine")
        if own:
            local = await build(Kind.ADD, FolderSource(tmp_path / "own"), list(own), [], blobs=blobs, spool=tmp_path)
            brought = message(Kind.ADD, local.paths, content=local.content, content_digest=local.content_digest)
            await some.apply(operations(brought, brought.content, {}), b"")
        try:
            for number in range(25):
                change(dice, root)
                package = await shipped(dice, root, tmp_path)
                await full.apply(operations(package, package.content or None, {}), b"")
                only = admission(patterns, [package], some)
                assert only is not None
                await some.apply(only.operations(operations(package, package.content or None, {})), b"")
                wanted = {path: content for path, content in files(full).items() if patterns.admits(path)}
                assert files(some) == wanted | own, f"{package.kind} {package.paths} {package.deep_paths}"
                entries = await entries_of(package, blobs, tmp_path) if package.content else None
                tree.add(package, entries, number)
                listed = await survey(some, blobs, ("/",))
                found = list(read_survey(await blobs.fetch(listed.digest, tmp_path)))
                wrong, _ = tree.differences(found, ("/",))
                assert wrong == []
        finally:
            await full.close()
            await some.close()

    asyncio.run(work())
