"""A blob comes down: into a file, and after a broken connection from where it stopped."""

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
"""The codes of a request for an object that is not there."""

WRITE_BYTES = 4 * CHUNK_BYTES
"""Held back to be written at once, since every write goes through a thread."""

PAUSES_S = (0.1, 0.5, 2.0)
"""Before going on after a broken connection that brought nothing new; when they are used up we give up."""


async def download(s3: Connection, digest: str, spool: Path) -> Path:
    """A new file in the spool with the content of the blob, complete; none is left after a failure.

    Raises:
        BlobMissing: the blob is not there.
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
        """Ask for what is missing, and write it down as far as it comes."""
        asked = {"Range": f"bytes={self._done}-"} if self._done else {}
        try:
            answer = await self._s3.call("get_object", *MISSING, Key=self._s3.bucket.blob_key(self._digest), **asked)
        except Declined as declined:
            raise BlobMissing(
                f"blob {self._digest} is not in {self._s3.bucket}; publish the content again"
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
        """Where the answer begins, and how large the blob is: some servers ignore ranges and send all of it."""
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
    """How many bytes were written.

    Each time with a descriptor of its own: one that is closed by a cancelled download may be another file by now.
    """
    with file.open("r+b", buffering=0) as opened:
        opened.seek(offset)
        for chunk in chunks:
            write_all(opened.fileno(), chunk)
        return opened.tell() - offset
