"""Reads a package: all of it is checked before the first operation is yielded."""

import io
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from callboard.backends.blob_store import CHUNK_BYTES
from callboard.backends.repository import Delete, Entry, EntryKind, Keep, Operation, Prune, Put
from callboard.content.package_format.compression import Content, opened, unpacked
from callboard.content.package_format.layout import Layout
from callboard.content.package_format.manifest import Form, Header, ManifestEntry, read_roots
from callboard.errors import BlobDamaged, BlobMissing, PackageCorrupt, PackageRefused, RequestRefused

MANIFEST_KEPT_BYTES = 64 << 10
"""A manifest up to this size is read once and kept until the package is applied, which saves a third of the work for a
small package. A larger one is read again, so that it is never held in memory."""


@dataclass(frozen=True)
class Package:
    """A checked package. ``blobs`` maps the digest of every blob it needs to its size in bytes, and ``trees`` maps
    every deep path that is a folder to all paths below it, which decides what is removed.
    """

    content: Content = field(repr=False)
    paths: tuple[str, ...]
    deep_paths: tuple[str, ...]
    entries: int
    blobs: Mapping[str, int]
    trees: Mapping[str, frozenset[str]] = field(repr=False)
    manifest: tuple[ManifestEntry, ...] = field(default=(), repr=False)
    """Its entries, if the manifest is small."""

    def operations(self, blobs: Mapping[str, Path]) -> Iterator[Operation]:
        """The operations for a repository, parents first. The files must stay until every entry was read.

        Args:
            blobs: a local file for every digest in ``self.blobs``.

        Raises:
            BlobMissing: a file is not given.
            PackageCorrupt: the size of a file differs from the published one.
        """
        for digest, size in self.blobs.items():
            _check_blob(digest, size, blobs)
        with opened(self.content) as file:
            header = Header.read(file)
            position = header.size + header.manifest_bytes
            for entry in self.manifest or _entries(file, header):
                if entry.form is Form.FILE:
                    yield _put_file(entry, self.content, position)
                    position += entry.size
                elif entry.form is Form.BLOB:
                    yield _put_file(entry, blobs[entry.digest], 0)
                else:
                    yield _plain(entry)
                if entry.path in self.trees:
                    yield Prune(entry.path, self.trees[entry.path])


def open_package(content: Content, spool: Path | None = None) -> Package:
    """Check a package from its first byte to its last, except the digests of the files.

    The repository checks those while it writes. Memory grows only by the set of all paths, and by the content of a
    package that was in memory; a compressed file is unpacked to the spool, and must stay there until it is applied.

    Raises:
        PackageCorrupt: truncated, or not a package.
        PackageRefused: an entry that a package may not have, such as one outside the root.
        SchemaTooNew: a newer version of the format.
    """
    content = unpacked(content, spool)
    with opened(content) as file:
        size = file.seek(0, io.SEEK_END)
        file.seek(0)
        header = Header.read(file)
        if header.size + header.body_bytes != size:
            raise PackageCorrupt(
                f"the package has {size} bytes instead of {header.size + header.body_bytes}; restore it or publish it "
                "again"
            )
        try:
            return _check(content, file, header)
        except RequestRefused as error:
            raise PackageRefused(f"the package breaks the format's rules: {error}") from error


def _check(content: Content, file: BinaryIO, header: Header) -> Package:
    roots = list(read_roots(file, header.roots))
    layout = Layout((path for path, _ in roots), (path for path, deep in roots if deep))
    if [path for path, _ in roots] != list(layout.roots):
        raise PackageRefused(
            "the requested paths are not sorted, or one occurs twice; publish the content again with --full"
        )
    inline, blobs, kept = 0, dict[str, int](), list[ManifestEntry]()
    keep = header.manifest_bytes <= MANIFEST_KEPT_BYTES
    for _ in range(header.entries):
        entry = ManifestEntry.read(file)
        layout.admit(entry)
        if keep:
            kept.append(entry)
        if entry.form is Form.FILE:
            inline += entry.size
        elif entry.form is Form.BLOB and blobs.setdefault(entry.digest, entry.size) != entry.size:
            raise PackageRefused(f"blob {entry.digest} has two sizes; publish the content again with --full")
    layout.finish()
    if file.tell() != header.size + header.manifest_bytes or inline != header.content_bytes:
        raise PackageCorrupt("the package's lengths do not add up; restore it or publish the content again with --full")
    deep_paths = tuple(path for path, deep in roots if deep)
    return Package(content, layout.roots, deep_paths, layout.entries, blobs, layout.trees(), tuple(kept))


def _entries(file: BinaryIO, header: Header) -> Iterator[ManifestEntry]:
    """The entries of a file whose header was already read."""
    list(read_roots(file, header.roots))
    for _ in range(header.entries):
        yield ManifestEntry.read(file)


def _check_blob(digest: str, size: int, blobs: Mapping[str, Path]) -> None:
    if digest not in blobs:
        raise BlobMissing(f"blob {digest} was not fetched; fetch it, then apply the package again")
    try:
        found = blobs[digest].stat().st_size
    except FileNotFoundError as error:
        raise BlobMissing(f"blob {digest} is gone from {blobs[digest].parent}; fetch it again") from error
    if found != size:
        raise BlobDamaged(
            f"blob {digest} has {found} bytes instead of {size}; publish its content again with --full, which replaces "
            "it"
        )


def _plain(entry: ManifestEntry) -> Operation:
    if entry.form is Form.KEEP:
        return Keep(entry.path, entry.mode)
    if entry.form is Form.GONE:
        return Delete(entry.path)
    kind = EntryKind.LINK if entry.form is Form.LINK else EntryKind.FOLDER
    return Put(Entry(entry.path, kind, entry.mode, target=entry.target))


def _put_file(entry: ManifestEntry, content: Content, position: int) -> Operation:
    def chunks() -> Iterator[bytes]:  # not a partial, whose repr would hold the content
        return _slice(content, position, entry.size)

    return Put(Entry(entry.path, EntryKind.FILE, entry.mode, entry.size, open=chunks), entry.digest)


def _slice(content: Content, position: int, size: int) -> Iterator[bytes]:
    with opened(content) as file:
        file.seek(position)
        while size:
            chunk = file.read(min(size, CHUNK_BYTES))
            if not chunk:
                raise PackageCorrupt("the content ends too early; restore it or publish it again with --full")
            size -= len(chunk)
            yield chunk
