"""From a package message to the operations that a repository carries out."""

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path

from callboard.backends.blob_store import CHUNK_BYTES
from callboard.backends.repositories.paths import check_path
from callboard.backends.repository import Delete, Operation
from callboard.content.package_format.compression import Content, opened
from callboard.content.package_format.manifest import is_digest
from callboard.content.package_format.package import Package, open_package
from callboard.errors import BlobDamaged, PackageCorrupt, PackageRefused, RequestRefused
from callboard.messages.distribution.topic_messages import Kind, PackageMessage

FORMAT = "callboard"
"""The name of the package format in a message, to tell it from any later one."""


def needed_blobs(message: PackageMessage) -> tuple[str, ...]:
    """The digests to fetch before ``operations`` can be called, not counting the package itself.

    Raises:
        PackageRefused: one is not a digest.
    """
    for digest in (*message.blobs, *filter(None, [message.content_ref])):
        if not is_digest(digest):
            raise PackageRefused(f"package {message.package_id} refers to {digest!r}, which is not a digest; clear it")
    return message.blobs if message.kind is Kind.ADD else ()


def operations(
    message: PackageMessage,
    content: Content | None,
    blobs: Mapping[str, Path],
    package: Package | None = None,
    spool: Path | None = None,
) -> Iterator[Operation]:
    """The operations for a package of any kind. Blocking: consume it outside the event loop.

    Everything except the digests of single files is checked before the first operation is yielded. ADD brings its
    content, DELETE removes its paths, INVALIDATE and TEST change nothing.

    Args:
        message: as read from the log.
        content: the bytes of the package, for ADD.
        blobs: a local file for every digest of ``needed_blobs``.
        package: the content, if ``checked`` was called before.
        spool: where to unpack a compressed file.

    Raises:
        PackageCorrupt: the content is not what was published; ``BlobDamaged`` if it is a blob.
        PackageRefused: it asks for a forbidden operation.
        SchemaTooNew: it has a newer format.
        BlobMissing: a needed blob is missing.
    """
    _check_format(message)
    if message.kind is Kind.ADD:
        yield from (package or checked(message, content, spool)).operations(blobs)
    elif message.kind is Kind.DELETE:
        yield from [Delete(_permitted(path)) for path in message.paths]


def _check_format(message: PackageMessage) -> None:
    if message.format != FORMAT:
        raise PackageRefused(f"package format {message.format!r} is unknown; upgrade, or clear the package")


def checked(message: PackageMessage, content: Content | None, spool: Path | None = None) -> Package:
    """The content of an ADD, verified to be what was published and to have the message's paths. Blocking.

    Raises the same as ``operations``.
    """
    _check_format(message)
    if content is None:
        raise PackageCorrupt(f"package {message.package_id} adds content but has none; publish it again with --full")
    digest, size = _measured(content)
    if digest != message.content_digest:
        wrong = f"package {message.package_id} has the digest {digest} instead of {message.content_digest!r}"
        if message.content_ref == message.content_digest:  # otherwise no blob could ever match the record
            raise BlobDamaged(f"{wrong}: its blob is damaged; publish the content again with --full, which replaces it")
        raise PackageCorrupt(f"{wrong}; restore its content or publish it again with --full")
    package = open_package(content, spool)
    if set(package.paths) != set(message.paths) or set(package.deep_paths) != set(message.deep_paths):
        raise PackageRefused(f"package {message.package_id} has other paths than its record; clear it")
    if not set(package.blobs) <= set(message.blobs):
        raise PackageRefused(f"package {message.package_id} needs blobs not named in its record; clear it")
    said = message.entries, message.length, message.total_bytes
    found = package.entries, size, size + sum(package.blobs.values())
    if any(claim not in (0, fact) for claim, fact in zip(said, found, strict=True)):  # 0 says nothing
        raise PackageRefused(
            f"package {message.package_id} claims {said}, but has {found} (entries, bytes, bytes with blobs); clear "
            "it, and publish it again"
        )
    return package


def _measured(content: Content) -> tuple[str, int]:
    """The digest of the content, and its size in bytes."""
    sha = hashlib.sha256()
    with opened(content) as file:
        while chunk := file.read(CHUNK_BYTES):
            sha.update(chunk)
        return sha.hexdigest(), file.tell()


def _permitted(path: str) -> str:
    try:
        return check_path(path)
    except RequestRefused as error:
        raise PackageRefused(f"the package has an invalid path: {error}") from error
