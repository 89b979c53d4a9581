"""The packages of an import: fetched and checked concurrently, applied in order."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path

from callboard.backends.blob_store import BlobStore
from callboard.backends.repository import Operation
from callboard.content.ship import Received, receive
from callboard.messages.distribution.topic_messages import PackageMessage


@asynccontextmanager
async def receive_all(
    messages: Sequence[PackageMessage], blobs: BlobStore, spool: Path, parallel: int
) -> AsyncIterator[tuple[Received, ...]]:
    """Get everything these packages need; it is available until the context ends. Raises the same as ``receive``.

    A package from the blob store is checked while others are being fetched; one inside its record is checked when its
    turn comes. If several fail, the error is that of the first in order.

    Args:
        messages: as read from the log.
        blobs: where large content is.
        spool: a folder for downloads.
        parallel: packages that are fetched and checked at the same time.
    """
    turns = asyncio.Semaphore(parallel)
    received = {at: Received(message, message.content or None, {}) for at, message in enumerate(messages)}
    afar = [at for at, message in enumerate(messages) if message.content_ref or message.blobs]
    async with AsyncExitStack() as stack:
        tasks = [asyncio.create_task(_receive(messages[at], blobs, spool, stack, turns)) for at in afar]
        try:
            for at, task in zip(afar, tasks, strict=True):
                received[at] = await task
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        yield tuple(received.values())


def operations(received: Sequence[Received]) -> Iterator[Operation]:
    """The operations for all of them; raises the same as ``apply.operations``."""
    for each in received:
        yield from each.operations()


async def _receive(
    message: PackageMessage, blobs: BlobStore, spool: Path, stack: AsyncExitStack, turns: asyncio.Semaphore
) -> Received:
    async with turns:
        received = await stack.enter_async_context(receive(message, blobs, spool))
        if isinstance(received.content, Path):
            return replace(received, package=await asyncio.to_thread(received.check))
        return received
