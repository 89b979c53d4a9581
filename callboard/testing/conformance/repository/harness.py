"""The harness that checks receive, and functions that they share."""

import hashlib
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from callboard.backends.repository import Entry, EntryKind, Put, Repository, Source

Shape = tuple[EntryKind, int, bytes]
"""What is at a path: its kind, its mode, and its content or target. The mode of a link is always 0."""


@dataclass(frozen=True, slots=True)
class RepositoryHarness:
    """An empty repository under test. Every check gets a new harness.

    Attributes:
        make: another instance over the same content, not yet opened.
    """

    make: Callable[[], Repository]


@asynccontextmanager
async def opened(harness: RepositoryHarness) -> AsyncIterator[Repository]:
    """The repository, opened, and closed at the end."""
    repository = harness.make()
    await repository.open()
    try:
        yield repository
    finally:
        await repository.close()


def file(path: str, content: bytes | str = b"", mode: int = 0o644) -> Put:
    """The operation that puts a file, with its correct digest."""
    data = content.encode() if isinstance(content, str) else content
    digest = hashlib.sha256(data).hexdigest()
    return Put(Entry(path, EntryKind.FILE, mode, size=len(data), open=lambda: _chunks(data)), digest)


def folder(path: str, mode: int = 0o755) -> Put:
    """The operation that puts a folder."""
    return Put(Entry(path, EntryKind.FOLDER, mode))


def link(path: str, target: str) -> Put:
    """The operation that puts a symbolic link."""
    return Put(Entry(path, EntryKind.LINK, target=target))


def shapes(repository: Source, path: str = "/") -> dict[str, Shape]:
    """Everything below ``path``, without ``path`` itself, in the order of the export."""
    return {entry.path: shape(entry) for entry in repository.entries(path, deep=True) if entry.path != path}


def shape(entry: Entry) -> Shape:
    """The shape of an entry, with its content."""
    if entry.kind is EntryKind.LINK:
        return entry.kind, 0, entry.target.encode()
    return entry.kind, entry.mode, b"".join(entry.open()) if entry.kind is EntryKind.FILE else b""


def paths(repository: Repository, path: str = "/") -> list[str]:
    """The paths below ``path``, in the order of the export."""
    return list(shapes(repository, path))


def a_file(content: bytes | str = b"", mode: int = 0o644) -> Shape:
    """How a file looks in ``shapes``."""
    return EntryKind.FILE, mode, content.encode() if isinstance(content, str) else content


def a_folder(mode: int = 0o755) -> Shape:
    """How a folder looks in ``shapes``."""
    return EntryKind.FOLDER, mode, b""


def a_link(target: str) -> Shape:
    """How a link looks in ``shapes``."""
    return EntryKind.LINK, 0, target.encode()


def _chunks(data: bytes) -> Iterator[bytes]:
    yield data[: len(data) // 2]
    yield data[len(data) // 2 :]
