"""Downloads a blob into a file; a broken connection resumes where it stopped."""

import asyncio
import os
import tempfile
from pathlib import Path
from typing import Any

from callboard.backends.blob_store import CHUNK_BYTES
from callboard.backends.blob_stores.s3.connection import Connection
from callboard.backends.blob_stores.s3.failure import BROKEN_STREAM, Declined
from callboard.backends.local.disk import disk_errors, write_all
from callboard.errors import BlobMissing, BlobUnavailable

MISSING = ("NoSuchKey", "NotFound", "404")
"""The error codes for an object that does not exist."""

WRITE_BYTES = 4 * CHUNK_BYTES
"""Buffered up to this size, since every write goes through a thread."""

PAUSES_S = (0.1, 0.5, 2.0)
"""Pauses between attempts after a broken connection without progress; then the download fails."""


async def download(s3: Connection, digest: str, spool: Path) -> Path:
    """A new file in the spool with the complete content of the blob; a failure leaves no file.

    Raises:
        BlobMissing: the blob does not exist.
        BlobUnavailable: the server or the connection fails, or the spool cannot be written.
    """
    with disk_errors(BlobUnavailable, spool):
        descriptor, name = tempfile.mkstemp(dir=spool, prefix=f"{digest}-")
        os.close(descriptor)
    file = Path(name)
    try:
        await _Download(s3, digest, file).run()
    except BaseException:
        await asyncio.to_thread(file.unlink, missing_ok=True)
        raise
    return file


class _Download:
    """``done`` of ``size`` bytes are in the file."""

    def __init__(self, s3: Connection, digest: str, file: Path) -> None:
        self._s3, self._digest, self._file = s3, digest, file
        self._done, self._size = 0, -1

    async def run(self) -> None:
        pauses = iter(PAUSES_S)
        while self._done != self._size:
            before = self._done
            try:
                await self._go_on()
            except BROKEN_STREAM as error:
                if self._done > before:
                    pauses = iter(PAUSES_S)
                    continue
                pause = next(pauses, None)
                if pause is None:
                    raise BlobUnavailable(
                        f"{self._s3.bucket}: the connection breaks at byte {self._done} of blob {self._digest} "
                        f"({error or type(error).__name__}); check the network, then try again"
                    ) from error
                await asyncio.sleep(pause)

    async def _go_on(self) -> None:
        """Request the missing part, and write as much of it as arrives."""
        asked = {"Range": f"bytes={self._done}-"} if self._done else {}
        try:
            answer = await self._s3.call("get_object", *MISSING, Key=self._s3.bucket.blob_key(self._digest), **asked)
        except Declined as declined:
            raise BlobMissing(
                f"blob {self._digest} is not in {self._s3.bucket}; publish the content again with --full"
            ) from declined
        body = answer["Body"]
        async with body:
            self._place(answer)
            waiting: list[bytes] = []
            size = 0
            try:
                async for chunk in body.iter_chunks(CHUNK_BYTES):
                    waiting.append(chunk)
                    size += len(chunk)
                    if size >= WRITE_BYTES:
                        full, waiting, size = waiting, [], 0
                        await self._write(full)
            finally:
                await self._write(waiting)

    def _place(self, answer: dict[str, Any]) -> None:
        """Read from the answer its start and the blob's size: some servers ignore ranges and send everything."""
        start, size = 0, answer["ContentLength"]
        if "ContentRange" in answer:  # bytes 100-199/200
            extent, _, total = answer["ContentRange"].removeprefix("bytes ").partition("/")
            start, size = int(extent.partition("-")[0]), int(total)
        if self._size not in (-1, size) or start not in (0, self._done):
            raise BlobUnavailable(
                f"{self._s3.bucket}: blob {self._digest} has changed while it was read; fetch it again"
            )
        self._done, self._size = start, size

    async def _write(self, chunks: list[bytes]) -> None:
        with disk_errors(BlobUnavailable, self._file.parent):
            self._done += await asyncio.to_thread(_write_at, self._file, self._done, chunks)


def _write_at(file: Path, offset: int, chunks: list[bytes]) -> int:
    """Write the chunks; returns the number of bytes.

    Opens its own descriptor each time: one closed by a cancelled download may refer to another file by now.
    """
    with file.open("r+b", buffering=0) as opened:
        opened.seek(offset)
        for chunk in chunks:
            write_all(opened.fileno(), chunk)
        return opened.tell() - offset
