"""A snapshot of a repository as one file: all of its content, and the ledger that belongs to it.

The file begins with a package that adds the whole tree, inline, as ``manifest`` describes. After it come::

    n bytes    JSON, UTF-8: format (1), ledger (base64), length (of the package), taken_ns
    u32        n, big-endian
    32 bytes   sha-256 of all bytes before it
    4 bytes    magic "CBSN"
"""

import base64
import hashlib
import json
import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from callboard.backends.blob_store import CHUNK_BYTES
from callboard.backends.local.disk import disk_errors, replacing
from callboard.backends.repository import Source
from callboard.content.package_format.draft import draft
from callboard.errors import PackageCorrupt, RepositoryUnavailable, RequestRefused, SchemaTooNew

MAGIC = b"CBSN"
FORMAT = 1
"""Incremented with every change that an older version would misread."""

_TAIL = struct.Struct(">I32s4s")
_SENSELESS = (ValueError, KeyError, TypeError, OverflowError, RecursionError)
"""The errors of parsing arbitrary bytes as JSON, numbers and base64."""

_ALL_INLINE = 1 << 62
"""Above the size of any file, so that none goes to a blob store: a snapshot is self-contained."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The metadata after the package of a snapshot: ``length`` is the package's, in bytes."""

    ledger: bytes
    length: int
    taken_ns: int


def write_snapshot(source: Source, ledger: bytes, target: Path, taken_ns: int) -> Snapshot:
    """Write a snapshot of a source that does not change during this. Blocking. The file appears once it is complete.

    Raises ``RequestRefused`` if the file exists and for content that cannot be shipped, and ``RepositoryUnavailable``
    if the file cannot be written.
    """
    if target.exists():
        raise RequestRefused(f"{target} already exists; choose a new file", code="exists")
    with (
        draft(source, ("/",), ("/",), target.parent, _ALL_INLINE) as drafted,
        disk_errors(RepositoryUnavailable, target),
        replacing(target) as file,
    ):
        snapshot = Snapshot(ledger, drafted.length, taken_ns)
        sha = hashlib.sha256()
        for chunk in (*drafted.stream(), _encoded(snapshot)):
            sha.update(chunk)
            file.write(chunk)
        file.write(_TAIL.pack(len(_encoded(snapshot)), sha.digest(), MAGIC))
    return snapshot


def read_snapshot(path: Path, package: Path) -> Snapshot:
    """Check a snapshot from its first byte to its last, and copy its package into a file of its own.

    Raises ``RequestRefused`` if it is not a snapshot, ``PackageCorrupt`` for a damaged one.
    """
    with disk_errors(RepositoryUnavailable, path), path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        if size < _TAIL.size:
            raise _no_snapshot(path)
        file.seek(size - _TAIL.size)
        length, digest, magic = _TAIL.unpack(file.read(_TAIL.size))
        body = size - _TAIL.size
        if magic != MAGIC or length > body:
            raise _no_snapshot(path)
        if _digest(file, body) != digest:
            raise PackageCorrupt(f"{path} is damaged; copy it again, or take another snapshot")
        file.seek(body - length)
        snapshot = _decoded(path, file.read(length))
        if snapshot.length != body - length:
            raise _senseless(path, f"its package has {body - length} bytes instead of {snapshot.length}")
        with disk_errors(RepositoryUnavailable, package), package.open("wb") as copy:
            for chunk in _chunks(file, snapshot.length):
                copy.write(chunk)
        return snapshot


def _encoded(snapshot: Snapshot) -> bytes:
    data = {
        "format": FORMAT,
        "ledger": base64.b64encode(snapshot.ledger).decode(),
        "length": snapshot.length,
        "taken_ns": snapshot.taken_ns,
    }
    return json.dumps(data).encode()


def _decoded(path: Path, text: bytes) -> Snapshot:
    """Decode the metadata. Its digest was verified, but anyone can make a file with a matching digest."""
    try:
        data = json.loads(text)
        version, length, taken_ns = (int(data[name]) for name in ("format", "length", "taken_ns"))
        if version > FORMAT:
            raise SchemaTooNew(f"{path} has format {version} and this version knows {FORMAT}; upgrade callboard")
        return Snapshot(base64.b64decode(data["ledger"], validate=True), length, taken_ns)
    except _SENSELESS as error:
        raise _senseless(path, f"{type(error).__name__}: {str(error)[:80]}") from error


def _digest(file: BinaryIO, length: int) -> bytes:
    sha = hashlib.sha256()
    for chunk in _chunks(file, length):
        sha.update(chunk)
    return sha.digest()


def _chunks(file: BinaryIO, length: int) -> Iterator[bytes]:
    """The first bytes of the file."""
    file.seek(0)
    while length and (chunk := file.read(min(length, CHUNK_BYTES))):
        length -= len(chunk)
        yield chunk


def _senseless(path: Path, why: str) -> PackageCorrupt:
    return PackageCorrupt(
        f"{path} is not a snapshot of callboard: the description at its end makes no sense ({why}); take another with "
        "`callboard snapshot`"
    )


def _no_snapshot(path: Path) -> RequestRefused:
    return RequestRefused(f"{path} is not a snapshot; take one with `callboard snapshot`", code="damaged")
