"""Trees as dictionaries: what a source holds, and what the operations of a package make of it."""

import hashlib
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from pathlib import Path

import pytest

from callboard.backends.blob_store import BlobInfo
from callboard.backends.repositories.paths import check_path, parent_of
from callboard.backends.repository import Delete, Entry, EntryKind, Keep, Operation, Prune
from callboard.content.package_format.manifest import Form, Header, ManifestEntry, encode_root
from callboard.errors import BlobMissing, PackageCorrupt, RequestRefused

Node = tuple[EntryKind, int, bytes]
"""Kind, mode, and the content or the link's target."""


def is_below(path: str, folder: str) -> bool:
    return path != folder and path.startswith(folder.rstrip("/") + "/")


class Tree(dict[str, Node]):
    """A source and a target of content, strict about what it is asked to do."""

    def __init__(self, nodes: dict[str, Node] | None = None) -> None:
        super().__init__({"/": (EntryKind.FOLDER, 0o755, b"")} | (nodes or {}))

    def folder(self, path: str, mode: int = 0o755) -> "Tree":
        self[path] = (EntryKind.FOLDER, mode, b"")
        return self

    def file(self, path: str, content: bytes, mode: int = 0o644) -> "Tree":
        self[path] = (EntryKind.FILE, mode, content)
        return self

    def link(self, path: str, target: str) -> "Tree":
        self[path] = (EntryKind.LINK, 0o777, target.encode())
        return self

    def entries(self, path: str, deep: bool) -> Iterator[Entry]:
        if path not in self:
            raise RequestRefused(f"{path} does not exist")
        yield self._entry(path)
        if deep:
            yield from (self._entry(below) for below in sorted(self) if is_below(below, path))

    def _entry(self, path: str) -> Entry:
        kind, mode, data = self[path]
        if kind is EntryKind.LINK:
            return Entry(path, kind, mode, target=data.decode())
        return Entry(path, kind, mode, size=len(data), open=lambda: iter([data[:3], data[3:]]))

    def remove(self, path: str) -> None:
        for gone in [other for other in self if other == path or is_below(other, path)]:
            del self[gone]
        self.setdefault("/", (EntryKind.FOLDER, 0o755, b""))

    def apply(self, operations: Iterable[Operation]) -> "Tree":
        for operation in operations:
            if isinstance(operation, Delete):
                self.remove(check_path(operation.path))
            elif isinstance(operation, Prune):
                for path in [path for path in self if is_below(path, operation.path)]:
                    if path not in operation.keep:
                        self.pop(path)
            elif isinstance(operation, Keep):
                self._place(operation.path, (EntryKind.FOLDER, operation.mode, b""), keep=True)
            else:
                self._put(operation.entry, operation.digest)
        return self

    def _put(self, entry: Entry, digest: str) -> None:
        data = b"".join(entry.open())
        if entry.kind is EntryKind.FILE:
            assert len(data) == entry.size
            if hashlib.sha256(data).hexdigest() != digest:
                raise PackageCorrupt(f"{entry.path} has another digest")
        self._place(entry.path, (entry.kind, entry.mode, data or entry.target.encode()), keep=False)

    def _place(self, path: str, node: Node, *, keep: bool) -> None:
        assert self[parent_of(check_path(path))][0] is EntryKind.FOLDER, path
        both_folders = node[0] is EntryKind.FOLDER and path in self and self[path][0] is EntryKind.FOLDER
        if not both_folders:
            self.remove(path)
        elif keep:
            return
        self[path] = node


class Blobs:
    """A blob store in a folder, without the care that a real one takes."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(exist_ok=True)
        self.folder = folder

    async def put(self, digest: str, chunks: Iterable[bytes], size: int | None = None) -> bool:
        data = b"".join(chunks)
        assert size in (None, len(data))
        if hashlib.sha256(data).hexdigest() != digest:
            raise PackageCorrupt(f"not the content of {digest}")
        created = not await self.exists(digest)
        (self.folder / digest).write_bytes(data)
        return created

    async def fetch(self, digest: str, spool: Path) -> Path:
        if not await self.exists(digest):
            raise BlobMissing(f"no blob {digest}")
        (spool / digest).write_bytes((self.folder / digest).read_bytes())
        return spool / digest

    async def exists(self, digest: str) -> bool:
        return (self.folder / digest).exists()

    async def delete(self, digest: str) -> bool:
        (self.folder / digest).unlink()
        return True

    async def list(self) -> AsyncIterator[BlobInfo]:
        for path in sorted(self.folder.iterdir()):
            yield BlobInfo(path.name, path.stat().st_size, 0)

    async def close(self) -> None:
        pass


def pack_bytes(roots: Iterable[tuple[str, bool]], entries: Iterable[ManifestEntry], contents: bytes = b"") -> bytes:
    roots, entries = list(roots), list(entries)
    manifest = b"".join([encode_root(*root) for root in roots] + [entry.encode() for entry in entries])
    return Header(len(manifest), len(contents), len(roots), len(entries)).encode() + manifest + contents


def file_entry(path: str, content: bytes, mode: int = 0o644) -> ManifestEntry:
    return ManifestEntry(Form.FILE, path, mode, len(content), hashlib.sha256(content).hexdigest())


@pytest.fixture(scope="session")
def new_tree() -> type[Tree]:
    return Tree


@pytest.fixture(scope="session")
def pack() -> Callable[..., bytes]:
    """A package with a correct header around the entries of a test."""
    return pack_bytes


@pytest.fixture(scope="session")
def file_of() -> Callable[..., ManifestEntry]:
    return file_entry


@pytest.fixture
def blobs(tmp_path: Path) -> Blobs:
    return Blobs(tmp_path / "blobs")


@pytest.fixture
def spool(tmp_path: Path) -> Path:
    folder = tmp_path / "spool"
    folder.mkdir()
    return folder


@pytest.fixture(scope="session")
def sample() -> Callable[[], Tree]:
    """A tree with an entry of each kind."""

    def make() -> Tree:
        tree = Tree().folder("/blog", 0o750).folder("/blog/2026").folder("/blog/empty", 0o700)
        tree.file("/blog/2026/a.html", b"<p>hello</p>").file("/blog/2026/none", b"", 0o600)
        tree.link("/blog/latest", "2026/a.html").file("/blog/\u00fc\u4e2d\U0001f600 x", b"name")
        return tree.folder("/about").file("/about/us", b"we").file("/top", b"top", 0o755)

    return make
