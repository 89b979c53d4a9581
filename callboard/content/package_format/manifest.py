"""The package format, versions 1 and 2, byte for byte.

A package is the content of one ADD. All numbers are big-endian and unsigned, all text is UTF-8::

    header     4 bytes  magic "CBPK"
               u16      format version: 1 or 2
               u8       version 2 only: 1 when all that follows the header is one zstd frame, else 0
               u64      length of the manifest in bytes
               u64      length of the contents in bytes
               u32      number of requested paths, at least 1
               u32      number of entries, at least 1
    manifest   for every requested path, sorted:
               u8       1 when it is shipped as a whole tree (deep), else 0
               u16      length of the path, then the path
               then for every entry, a folder always before what it holds:
               u8       form: 0 keep, 1 folder, 2 file, 3 blob, 4 link, 5 gone (version 2 only)
               u16      mode: the nine permission bits; of a folder the owner's three are read as set
               u64      size of the file in bytes (file and blob; else 0)
               32 bytes sha-256 of the file (file and blob; else zeros)
               u16      length of the path
               u16      length of the link's target (link; else 0)
                        then the path, then the target
    contents   the bytes of every entry of form file, in the order of the manifest, nothing between them

Nothing follows the contents. A *keep* is a folder that was not requested but leads to a requested path; a
*blob* is a file whose content is in the blob store under its sha-256; a deep path that is *gone* is removed, with
everything below it. ``layout`` has the rules about which entries a package may have, and in which order. A reader needs
one entry in memory at a time. Lengths are those before compression; see ``compression``. A package that needs nothing
of version 2 is written as version 1.
"""

import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from typing import BinaryIO, NamedTuple, Self

from callboard.errors import PackageCorrupt, PackageRefused, SchemaTooNew

MAGIC = b"CBPK"
VERSION = 2
"""The newest version that this process reads; subscribers announce it."""
TEXT_MAX = 0xFFFF
"""Longest path or link target in bytes: the most that two bytes can count."""

_START = struct.Struct(">4sH")
_COMPRESSED = struct.Struct(">B")
_LENGTHS = struct.Struct(">QQII")
_ROOT = struct.Struct(">BH")
_ENTRY = struct.Struct(">BHQ32sHH")
_DIGEST = re.compile("[0-9a-f]{64}")


class Form(IntEnum):
    """The kind of an entry in a package; the number is its encoding."""

    KEEP = 0
    FOLDER = 1
    FILE = 2
    BLOB = 3
    LINK = 4
    GONE = 5


_FORMS = {int(form): form for form in Form}
_OWNER_ALL = 0o700
"""Added to the mode of every folder that is read: without it, an ordinary user would lock itself out of its target."""


@dataclass(frozen=True, slots=True)
class ManifestEntry:
    """One entry of a manifest. ``digest`` is hexadecimal; it and ``target`` are empty where the form has none."""

    form: Form
    path: str
    mode: int
    size: int = 0
    digest: str = ""
    target: str = ""

    def encode(self) -> bytes:
        """The bytes of this entry."""
        path, target = self.path.encode(), self.target.encode()
        digest = bytes.fromhex(self.digest)
        return _ENTRY.pack(self.form, self.mode, self.size, digest, len(path), len(target)) + path + target

    @classmethod
    def read(cls, file: BinaryIO) -> Self:
        """The next entry of the file. Raises ``PackageCorrupt`` and ``PackageRefused``."""
        form, mode, size, digest, path_bytes, target_bytes = _ENTRY.unpack(_exactly(file, _ENTRY.size))
        path, target = _text(file, path_bytes), _text(file, target_bytes) if target_bytes else ""
        known = _FORMS.get(form)
        if known is None:
            raise PackageRefused(f"entry {path!r} has the unknown form {form}; publish the content again with --full")
        has_content = known is Form.FILE or known is Form.BLOB
        if not has_content and (size or any(digest)):
            raise PackageRefused(f"entry {path!r} is not a file but has content; publish the content again with --full")
        if known is Form.FOLDER or known is Form.KEEP:
            mode |= _OWNER_ALL
        return cls(known, path, mode, size, digest.hex() if has_content else "", target)


COMPRESSED = _START.pack(MAGIC, 2) + _COMPRESSED.pack(1)
"""The first bytes of a package of version 2 that is compressed."""


class Header(NamedTuple):
    """The header of a package: what the rest must contain."""

    manifest_bytes: int
    content_bytes: int
    roots: int
    entries: int
    version: int = 1
    compressed: bool = False

    @property
    def size(self) -> int:
        """Length of the header itself in bytes."""
        return _START.size + (_COMPRESSED.size if self.version > 1 else 0) + _LENGTHS.size

    @property
    def body_bytes(self) -> int:
        """Length of what follows the header in bytes, before compression."""
        return self.manifest_bytes + self.content_bytes

    def encode(self) -> bytes:
        """The bytes of the header."""
        compressed = _COMPRESSED.pack(self.compressed) if self.version > 1 else b""
        return _START.pack(MAGIC, self.version) + compressed + _LENGTHS.pack(*self[:4])

    @classmethod
    def read(cls, file: BinaryIO) -> Self:
        """The header at the start of the file. Raises ``PackageCorrupt`` and ``SchemaTooNew``."""
        magic, version = _START.unpack(_exactly(file, _START.size))
        if magic != MAGIC:
            raise PackageCorrupt(
                f"this is not a package: it starts with {magic!r}; publish the content again with --full"
            )
        if version > VERSION:
            raise SchemaTooNew(
                f"the package has format version {version} and this process reads up to {VERSION}; upgrade it"
            )
        if version < 1:
            raise PackageCorrupt("the package has format version 0, which does not exist; publish it again with --full")
        (compressed,) = _COMPRESSED.unpack(_exactly(file, _COMPRESSED.size)) if version > 1 else (0,)
        if compressed > 1:
            raise PackageCorrupt(f"the package has the unknown compression {compressed}; publish it again with --full")
        return cls(*_LENGTHS.unpack(_exactly(file, _LENGTHS.size)))._replace(
            version=version, compressed=bool(compressed)
        )


def encode_root(path: str, deep: bool) -> bytes:
    """The bytes of one requested path."""
    encoded = path.encode()
    return _ROOT.pack(deep, len(encoded)) + encoded


def read_roots(file: BinaryIO, count: int) -> Iterator[tuple[str, bool]]:
    """The requested paths, each with whether it is deep. Raises ``PackageCorrupt``."""
    for _ in range(count):
        deep, length = _ROOT.unpack(_exactly(file, _ROOT.size))
        if deep > 1:
            raise PackageCorrupt(f"a requested path is marked {deep} instead of 0 or 1; publish it again with --full")
        yield _text(file, length), bool(deep)


def is_digest(text: str) -> bool:
    """Whether this is a sha-256 as written here: 64 hexadecimal digits in lower case."""
    return _DIGEST.fullmatch(text) is not None


def _exactly(file: BinaryIO, size: int) -> bytes:
    data = file.read(size)
    if len(data) < size:
        raise PackageCorrupt("the package ends too early; restore it or publish the content again with --full")
    return data


def _text(file: BinaryIO, size: int) -> str:
    try:
        return _exactly(file, size).decode()
    except UnicodeDecodeError as error:
        raise PackageRefused(f"a path is not UTF-8: {error}; publish the content again with --full") from error
