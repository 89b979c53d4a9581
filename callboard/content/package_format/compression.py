"""Compressed packages: everything after the header is one zstd frame.

What a header declares is checked against the bytes that are there before anything is unpacked, and no more than that
is ever unpacked: a small package cannot fill the memory or the disk of its reader.
"""

import io
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import IO, BinaryIO

import zstandard

from callboard.backends.blob_store import CHUNK_BYTES
from callboard.content.package_format.manifest import COMPRESSED, Header
from callboard.errors import BlobMissing, BlobUnavailable, PackageCorrupt

Content = Path | bytes
"""The bytes of a package: a file, or in memory."""

WORTH = 0.9
"""A package that does not shrink to this part of its size is stored as it is."""

INLINE_UNPACKED_MAX = 8 << 20
"""The most bytes that a package in a record may unpack to, since that happens in memory; larger ones are blobs."""

EXPANSION_MAX = 100
"""How many times its own size a compressed blob may unpack to beyond that. Text shrinks to a tenth, rarely to less."""

MANIFEST_MAX = 64 << 20
"""The most bytes of a compressed manifest, which is read into memory: half a million files."""

WINDOW_MAX = 8 << 20
"""Memory for unpacking, in bytes; the level used needs a quarter."""


def compress(body: Iterable[bytes], header: Header, target: IO[bytes]) -> bool:
    """Write the frame; False if it is not worth it, or unpacks to more than a reader accepts."""
    if header.manifest_bytes > MANIFEST_MAX:
        return False
    size = header.body_bytes
    packing = zstandard.ZstdCompressor().compressobj(size=size)
    for chunk in body:
        target.write(packing.compress(chunk))
    target.write(packing.flush())
    return target.tell() <= size * WORTH and size <= _unpacked_max(target.tell())


def _unpacked_max(packed: int) -> int:
    return INLINE_UNPACKED_MAX + packed * EXPANSION_MAX


def unpacked(content: Content, spool: Path | None) -> Content:
    """The package uncompressed: the same content if it already is, else in memory, or a new file in the spool.

    Raises ``PackageCorrupt``, ``SchemaTooNew``, ``BlobMissing`` and ``BlobUnavailable``. Blocking.
    """
    with opened(content) as file:
        header = Header.read(file)
        if not header.compressed:
            return content
        plain = header._replace(compressed=False).encode()
        with _frame(content, file, header) as frame:
            if isinstance(content, bytes):
                return plain + b"".join(_exactly(frame, header.body_bytes))
            with NamedTemporaryFile(dir=spool, prefix="unpacked-", delete=False) as target:
                target.write(plain)
                target.writelines(_exactly(frame, header.body_bytes))
                return Path(target.name)


@contextmanager
def manifest_of(content: Content) -> Iterator[tuple[Header, BinaryIO]]:
    """The header of a package, and its manifest to read from. Raises the same as ``unpacked``. Blocking."""
    with opened(content) as file:
        header = Header.read(file)
        if not header.compressed:
            yield header, file
            return
        with _frame(content, file, header) as frame:
            yield header, io.BytesIO(frame.read(header.manifest_bytes))


def unpacked_bytes(content: bytes) -> int:
    """How many bytes a package in a record, if it is there, has once it is unpacked; its size now, if not known."""
    if not content.startswith(COMPRESSED):
        return len(content)
    try:
        return Header.read(io.BytesIO(content)).body_bytes
    except PackageCorrupt:
        return len(content)  # its importer reports what is wrong with it


def opened(content: Content) -> BinaryIO:
    """The bytes as an open file; the caller closes it. Raises ``BlobMissing`` and ``BlobUnavailable``."""
    if isinstance(content, bytes):
        return io.BytesIO(content)
    try:
        return content.open("rb")
    except FileNotFoundError as error:
        raise BlobMissing(f"{content.name} is gone from {content.parent}; fetch it again") from error
    except OSError as error:
        raise BlobUnavailable(f"{content} cannot be read: {error}; repair it") from error


@contextmanager
def _frame(content: Content, file: BinaryIO, header: Header) -> Iterator[BinaryIO]:
    """What is compressed, to read from, if the header declares no more than may be unpacked."""
    packed = len(content) if isinstance(content, bytes) else content.stat().st_size
    most = INLINE_UNPACKED_MAX if isinstance(content, bytes) else _unpacked_max(packed)
    for size, allowed, what in (header.body_bytes, most, ""), (header.manifest_bytes, MANIFEST_MAX, "a manifest of "):
        if size > allowed:
            raise PackageCorrupt(
                f"the package of {packed} bytes claims to unpack to {what}{size} bytes; the limit is {allowed}; "
                "publish the content again with --full"
            )
    try:
        with zstandard.ZstdDecompressor(max_window_size=WINDOW_MAX).stream_reader(file, closefd=False) as frame:
            yield frame
    except zstandard.ZstdError as error:
        raise PackageCorrupt(
            f"the package cannot be unpacked: {error}; publish the content again with --full"
        ) from error


def _exactly(frame: BinaryIO, size: int) -> Iterator[bytes]:
    """The whole frame, which must have this size."""
    left = size
    while left and (chunk := frame.read(min(left, CHUNK_BYTES))):
        left -= len(chunk)
        yield chunk
    if left or frame.read(1):
        raise PackageCorrupt(
            f"the package does not unpack to the {size} bytes that it claims; publish it again with --full"
        )
