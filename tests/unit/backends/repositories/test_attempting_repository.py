"""What a repository that stores an attempt and imports in one call leaves behind."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from callboard.backends.repositories.folder import FolderRepository
from callboard.backends.repositories.sqlite import SqliteRepository
from callboard.backends.repository import Attempting, Entry, EntryKind, Operation, Put
from callboard.errors import PackageCorrupt


def page() -> Put:
    return Put(Entry("/a.html", EntryKind.FILE, 0o644, 5, open=lambda: iter((b"hello",))))


def corrupt() -> Iterator[Operation]:
    yield page()
    raise PackageCorrupt("half of it is missing")


@pytest.mark.parametrize("kind", [SqliteRepository, FolderRepository])
def test_an_attempt_is_stored_also_when_its_import_fails(
    tmp_path: Path, kind: type[SqliteRepository | FolderRepository]
) -> None:
    async def body() -> None:
        repository = kind(tmp_path / "out")
        assert isinstance(repository, Attempting)
        await repository.open()
        await repository.attempt(b"first try", [page()], b"imported")
        assert await repository.open() == b"imported"
        with pytest.raises(PackageCorrupt):
            await repository.attempt(b"second try", corrupt(), b"imported twice")
        assert await repository.open() == b"second try"
        await repository.close()

    asyncio.run(body())
