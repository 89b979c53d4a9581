"""Writes a package: reads the source once into memory or unnamed files, then streams the package from there."""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Set
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from tempfile import SpooledTemporaryFile
from types import TracebackType
from typing import IO, Self

from callboard.backends.blob_store import CHUNK_BYTES
from callboard.backends.repository import Entry, EntryKind, Source
from callboard.content.package_format.compression import compress
from callboard.content.package_format.layout import MODE_MAX, Layout, leading_folders
from callboard.content.package_format.manifest import Form, Header, ManifestEntry, encode_root
from callboard.errors import RepositoryUnavailable, RequestRefused

BLOB_THRESHOLD = 64 << 10
"""A larger file, in bytes, goes to the blob store and is only referenced: while unchanged, it travels once."""

IN_MEMORY_MAX = 256 << 10
"""Bytes of the manifest, and of the contents, that are kept in memory: making a file takes longer than a small package.
"""

BLOBS_MAX = 8192
"""The most blobs of one package: their digests must fit into its record. Further files travel inline."""


@dataclass(frozen=True)
class LargeFile:
    """A file to put into the blob store before the package is published; ``open`` reads the source again."""

    path: str
    digest: str
    size: int
    open: Callable[[], Iterator[bytes]]


@dataclass(frozen=True)
class Draft:
    """A package that is complete but not yet shipped. Close it to free its disk space.

    ``length`` is the package's size in bytes, ``unpacked`` that before it was compressed, ``digest`` its sha-256 in
    hexadecimal, ``entries`` the number of its entries. ``paths`` and ``deep_paths`` are sorted and free of duplicates.
    """

    paths: tuple[str, ...]
    deep_paths: tuple[str, ...]
    entries: int
    length: int
    unpacked: int
    digest: str
    large: tuple[LargeFile, ...]
    header: bytes
    spooled: tuple[IO[bytes], ...]

    def stream(self) -> Iterator[bytes]:
        """The bytes of the package; may be called repeatedly. Blocking."""
        return _stream(self.header, *self.spooled)

    def close(self) -> None:
        """Remove the spooled files; idempotent."""
        for file in self.spooled:
            file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def draft(
    source: Source,
    paths: Iterable[str],
    deep_paths: Iterable[str],
    spool: Path,
    blob_threshold: int = BLOB_THRESHOLD,
    max_bytes: int | None = None,
    gone: Set[str] = frozenset(),
    *,
    compressed: bool = False,
) -> Draft:
    """Read the requested paths and make a package of them. Blocking: call it outside the event loop.

    Args:
        source: where the content is.
        paths: what to ship: each path itself, without its children.
        deep_paths: the paths among them to ship with everything below.
        spool: a folder with room for the package; it gets only unnamed files, of larger packages, which the system
            removes even if the process dies.
        blob_threshold: files above this many bytes go to the blob store.
        max_bytes: limit of the files' total size; reading stops before the file that would exceed it.
        gone: the deep paths that are not read but removed; this needs version 2 of the format.
        compressed: compress the package if it shrinks; this needs version 2 as well.

    Raises:
        RequestRefused: a missing or invalid path, too much content, or content that changed while it was read.
        RepositoryUnavailable: the spool cannot be written.
    """
    layout = Layout(paths, deep_paths)
    try:
        with ExitStack() as files:
            manifest, contents = files.enter_context(_spooled(spool)), files.enter_context(_spooled(spool))
            writer = _Writer(layout, manifest, contents, blob_threshold)
            size = 0
            for entry, form in _requested(source, layout, gone):
                size += entry.size
                writer.write(entry, form, read=max_bytes is None or size <= max_bytes)
            if max_bytes is not None and size > max_bytes:
                raise _too_large(size, max_bytes)
            packed = files.enter_context(_spooled(spool)) if compressed else None
            drafted = writer.finish(2 if gone else 1, packed)
            files.pop_all()  # the draft owns them now
            return drafted
    except OSError as error:
        raise RepositoryUnavailable(f"cannot spool a package in {spool}: {error}; make room there") from error


def _spooled(spool: Path) -> IO[bytes]:
    return SpooledTemporaryFile(max_size=IN_MEMORY_MAX, dir=str(spool))


def _too_large(size: int, max_bytes: int) -> RequestRefused:
    return RequestRefused(
        f"the package would have {size / 1e6:.3f} MB of files, more than max_package_mb = {max_bytes / 1e6:g}; ship "
        "fewer paths at a time, or raise it",
        code="too_large",
    )


def unstable(path: str) -> RequestRefused:
    """The error for a file that changed while it was read."""
    return RequestRefused(f"file {path!r} changed while it was read; publish it again when stable", code="changed")


def _requested(source: Source, layout: Layout, gone: Set[str]) -> Iterator[tuple[Entry, Form | None]]:
    """The entries to ship, parents first; with a form if that does not follow from the entry: keep, or gone."""
    for path in layout.roots:
        if path in layout:  # already shipped with the tree of a deep path
            continue
        entries = iter([Entry(path, EntryKind.FOLDER)]) if path in gone else source.entries(path, path in layout.deep)
        first = next(entries, None)  # before its folders, so that a missing path is refused by its own name
        if first is None:
            raise RequestRefused(f"path {path!r} does not exist; correct it or leave it out", code="not_found")
        for folder in leading_folders(path):
            if folder not in layout:
                yield from ((entry, Form.KEEP) for entry in source.entries(folder, deep=False))
        yield first, Form.GONE if path in gone else None
        yield from ((entry, None) for entry in entries)


class _Writer:
    """Spools manifest and contents separately; the package has one after the other."""

    def __init__(self, layout: Layout, manifest: IO[bytes], contents: IO[bytes], blob_threshold: int) -> None:
        self._layout = layout
        self._manifest = manifest
        self._contents = contents
        self._blob_threshold = blob_threshold
        self._large: dict[str, LargeFile] = {}
        for path in layout.roots:
            self._manifest.write(encode_root(path, path in layout.deep))

    def write(self, entry: Entry, form: Form | None, *, read: bool) -> None:
        leading, form, digest = form is Form.KEEP, Form.FOLDER if form is None else form, ""
        if leading and entry.kind is not EntryKind.FOLDER:
            raise RequestRefused(f"path {entry.path!r} leads to a requested path but is not a folder", code="not_found")
        if entry.kind is EntryKind.FILE:
            form, digest = self._read(entry) if read else (Form.FILE, "")
        elif entry.kind is EntryKind.LINK:
            form = Form.LINK
        size = entry.size if entry.kind is EntryKind.FILE else 0
        line = ManifestEntry(form, entry.path, entry.mode & MODE_MAX, size, digest, entry.target)
        self._layout.admit(line)
        self._manifest.write(line.encode())

    def _read(self, entry: Entry) -> tuple[Form, str]:
        """Hash a file, and spool its content unless it is for the blob store."""
        apart = entry.size > self._blob_threshold and len(self._large) < BLOBS_MAX
        sha, size = hashlib.sha256(), 0
        for chunk in _chunks(entry):
            sha.update(chunk)
            size += len(chunk)
            if size > entry.size:  # it may grow faster than it is read
                break
            if not apart:
                self._contents.write(chunk)
        if size != entry.size:
            raise unstable(entry.path)
        digest = sha.hexdigest()
        if apart:
            self._large.setdefault(digest, LargeFile(entry.path, digest, size, entry.open))
        return Form.BLOB if apart else Form.FILE, digest

    def finish(self, version: int, packed: IO[bytes] | None) -> Draft:
        """The draft, compressed into ``packed`` if that is given and worth it."""
        layout = self._layout
        layout.finish()
        spooled: tuple[IO[bytes], ...] = self._manifest, self._contents
        header = Header(self._manifest.tell(), self._contents.tell(), len(layout.roots), layout.entries, version)
        unpacked = header.size + header.body_bytes
        for file in spooled:
            file.flush()
        if packed is not None and compress(_stream(b"", *spooled), header, packed):
            header, spooled = header._replace(version=2, compressed=True), (packed,)
            packed.flush()
        for file in {self._manifest, self._contents, packed or self._contents}.difference(spooled):
            file.close()
        sha, length = hashlib.sha256(), 0
        for chunk in _stream(header.encode(), *spooled):
            sha.update(chunk)
            length += len(chunk)
        return Draft(
            paths=layout.roots,
            deep_paths=tuple(sorted(layout.deep)),
            entries=layout.entries,
            length=length,
            unpacked=unpacked,
            digest=sha.hexdigest(),
            large=tuple(self._large.values()),
            header=header.encode(),
            spooled=spooled,
        )


def _chunks(entry: Entry) -> Iterator[bytes]:
    try:
        yield from entry.open()
    except OSError as error:
        raise RequestRefused(f"file {entry.path!r} cannot be read: {error}; repair it", code="inaccessible") from error


def _stream(header: bytes, *files: IO[bytes]) -> Iterator[bytes]:
    yield header
    for file in files:
        position = 0
        while chunk := _read_at(file, position):
            position += len(chunk)
            yield chunk


def _read_at(file: IO[bytes], position: int) -> bytes:
    file.seek(position)
    return file.read(CHUNK_BYTES)
