"""Copies blobs from one store to another."""

import asyncio
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from callboard.backends.blob_store import CHUNK_BYTES, BlobStore
from callboard.errors import BlobDamaged, PackageCorrupt


async def bring_all(digests: Iterable[str], source: BlobStore, target: BlobStore, spool: Path, parallel: int) -> None:
    """Copy each blob unless it is there, up to ``parallel`` at the same time. Raises as ``bring``."""
    turns = asyncio.Semaphore(parallel)

    async def in_turn(digest: str) -> None:
        async with turns:
            await bring(digest, source, target, spool)

    tasks = [asyncio.create_task(in_turn(digest)) for digest in dict.fromkeys(digests)]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def bring(digest: str, source: BlobStore, target: BlobStore, spool: Path) -> None:
    """Copy the blob unless it is there; one that is gets its grace period again, as nothing may refer to it yet.

    Raises:
        BlobMissing: it is not in the source.
        BlobUnavailable: one of the stores cannot be used.
        BlobDamaged: it is not what was published.
    """
    if await target.exists(digest):
        with suppress(PackageCorrupt):  # it was removed since, or is damaged
            await target.put(digest, ())
            return
    file = await source.fetch(digest, spool)
    try:
        await target.put(digest, _chunks(file), file.stat().st_size)
    except PackageCorrupt as error:
        damaged = f"blob {digest} is damaged at its source; publish its content again with --full, which replaces it"
        raise BlobDamaged(damaged) from error
    finally:
        if spool in file.parents:
            file.unlink()


def _chunks(file: Path) -> Iterator[bytes]:
    with file.open("rb") as opened:
        while chunk := opened.read(CHUNK_BYTES):
            yield chunk
