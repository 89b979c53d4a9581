"""The asynchronous edge: sends and receives content through the record or the blob store."""

import asyncio
import shutil
import tempfile
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from callboard.backends.blob_store import BlobStore
from callboard.backends.repository import Operation, Source
from callboard.content.importing.admission import Admission
from callboard.content.importing.apply import checked, needed_blobs, operations
from callboard.content.package_format.compression import INLINE_UNPACKED_MAX, Content
from callboard.content.package_format.draft import BLOB_THRESHOLD, Draft, LargeFile, draft, unstable
from callboard.content.package_format.layout import Layout
from callboard.content.package_format.package import Package
from callboard.errors import PackageCorrupt, RepositoryUnavailable
from callboard.messages.distribution.topic_messages import Kind, PackageMessage

INLINE_MAX = 800_000
"""A package whose bytes, paths and digests take up to this many bytes goes into the record itself: every log
takes records of 1 MB, and the rest is left for the other fields."""


@dataclass(frozen=True)
class Shipment:
    """The fields of a ``PackageMessage`` that describe the content, under the names they have there."""

    paths: tuple[str, ...]
    deep_paths: tuple[str, ...]
    content: bytes = b""
    content_ref: str = ""
    content_digest: str = ""
    length: int = 0
    entries: int = 0
    blobs: tuple[str, ...] = ()
    total_bytes: int = 0


@dataclass(frozen=True)
class Received:
    """A package message with its content available locally."""

    message: PackageMessage
    content: Content | None
    blobs: dict[str, Path]
    package: Package | None = None
    """The content once it is checked."""
    only: Admission | None = None
    """The effect of the subscriber's patterns; None if it has none."""
    spool: Path | None = None
    """A folder that is there until the package is applied."""

    def check(self) -> Package:
        """Check the content of an ADD, once; raises the same as ``apply.operations``. Blocking."""
        return self.package or checked(self.message, self.content, self.spool)

    def operations(self) -> Iterator[Operation]:
        """The operations for the repository; raises the same as ``apply.operations``. Consume it off the event loop."""
        all_of_it = operations(self.message, self.content, self.blobs, self.package, self.spool)
        return self.only.operations(all_of_it) if self.only is not None else all_of_it


async def build(
    kind: Kind,
    source: Source,
    paths: Iterable[str],
    deep_paths: Iterable[str],
    *,
    gone: Iterable[str] = (),
    compress: bool = False,
    blobs: BlobStore,
    spool: Path,
    inline_max: int = INLINE_MAX,
    blob_threshold: int = BLOB_THRESHOLD,
    max_bytes: int | None = None,
) -> Shipment:
    """Build the content of a package, and put into the blob store what is too large for the record.

    On return, everything that the shipment refers to is in the blob store, and the spool is empty again.

    Args:
        kind: only ADD reads the source; TEST may have no paths.
        source: where the content is.
        paths: what the package is about; for ADD see ``draft``.
        deep_paths: the paths among them that include everything below.
        gone: the deep paths that an ADD removes.
        compress: whether every reader knows version 2 of the package format, which ``gone`` needs as well.
        blobs: gets the large files and a large package.
        spool: a folder for temporary files, on disk.
        inline_max: bytes up to which a package goes into the record.
        blob_threshold: files above this many bytes go to the blob store.
        max_bytes: limit of the total size of the package's files.

    Raises:
        RequestRefused: the paths or their content cannot be shipped.
        RepositoryUnavailable: the spool cannot be written.
        BlobUnavailable: the blob store cannot be written.
    """
    paths, deep_paths = tuple(paths), tuple(deep_paths)
    if kind is not Kind.ADD:
        if kind is Kind.TEST and not paths:
            return Shipment((), ())
        layout = Layout(paths, deep_paths)
        return Shipment(layout.roots, tuple(sorted(layout.deep)))
    read = partial(
        draft, source, paths, deep_paths, spool, blob_threshold, max_bytes, frozenset(gone), compressed=compress
    )
    with await _drafted(read) as drafted:
        return await _shipped(drafted, blobs, inline_max)


@asynccontextmanager
async def receive(message: PackageMessage, blobs: BlobStore, spool: Path) -> AsyncIterator[Received]:
    """Get everything a package needs; it is available until the context ends, which empties the spool again.

    Args:
        message: as read from the log.
        blobs: where large content is.
        spool: a folder for downloads.

    Raises:
        BlobMissing: content is not in the blob store (yet).
        BlobUnavailable: the blob store cannot be read.
        RepositoryUnavailable: the spool cannot be written.
        PackageRefused: the message refers to something that cannot be a blob.
    """
    needed = needed_blobs(message)
    if not needed and not message.content_ref:
        yield Received(message, message.content or None, {})
        return
    try:
        folder = Path(tempfile.mkdtemp(dir=spool, prefix="package-"))
    except OSError as error:
        raise RepositoryUnavailable(f"cannot spool a package in {spool}: {error}; make room there") from error
    try:
        content: Content | None = message.content or None
        if message.kind is Kind.ADD and message.content_ref:
            content = await blobs.fetch(message.content_ref, folder)
        files = {digest: await blobs.fetch(digest, folder) for digest in needed}
        yield Received(message, content, files, spool=folder)
    finally:
        await _remove(folder)


async def _remove(folder: Path) -> None:
    """Remove the folder even when cancelled, which happens when another package of the same import fails first."""
    removing = asyncio.ensure_future(asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True))
    try:
        await asyncio.shield(removing)
    except asyncio.CancelledError:
        await removing
        raise


async def _drafted(read: Callable[[], Draft]) -> Draft:
    work = asyncio.get_running_loop().run_in_executor(None, read)
    try:
        return await asyncio.shield(work)
    except asyncio.CancelledError:
        work.add_done_callback(_discard)  # the thread cannot be stopped; discard its result
        raise


def _discard(work: asyncio.Future[Draft]) -> None:
    if not work.cancelled() and work.exception() is None:
        work.result().close()


async def _shipped(drafted: Draft, blobs: BlobStore, inline_max: int) -> Shipment:
    for file in drafted.large:
        await _put(file, blobs)
    inline = drafted.length + _bytes_beside(drafted) <= inline_max and drafted.unpacked <= INLINE_UNPACKED_MAX
    if not inline:
        await blobs.put(drafted.digest, drafted.stream(), drafted.length)
    return Shipment(
        paths=drafted.paths,
        deep_paths=drafted.deep_paths,
        content=b"".join(drafted.stream()) if inline else b"",
        content_ref="" if inline else drafted.digest,
        content_digest=drafted.digest,
        length=drafted.length,
        entries=drafted.entries,
        blobs=tuple(file.digest for file in drafted.large),
        total_bytes=drafted.length + sum(file.size for file in drafted.large),
    )


async def _put(file: LargeFile, blobs: BlobStore) -> None:
    try:
        await blobs.put(file.digest, file.open(), file.size)
    except PackageCorrupt as error:
        raise unstable(file.path) from error


def _bytes_beside(drafted: Draft) -> int:
    """The approximate size of a message besides its content, in bytes: paths and digests, with their framing."""
    texts = (*drafted.paths, *drafted.deep_paths, *(file.digest for file in drafted.large))
    return sum(len(text.encode()) + 4 for text in texts)
