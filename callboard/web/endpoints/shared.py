"""Readings that several clients share, so that many of them cost no more than one."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

T = TypeVar("T")

SHARED_S = 1.0
"""How long a reading serves after its end."""


class Shared(Generic[T]):
    """What ``read`` returns: asked for by the first client, for all who come until ``SHARED_S`` after its end."""

    def __init__(self, read: Callable[[], Awaitable[T]]) -> None:
        self._read = read
        self._reading: asyncio.Future[T] | None = None
        self._due_s = 0.0

    async def now(self) -> T:
        """The newest reading."""
        if self._reading is None or (self._reading.done() and asyncio.get_running_loop().time() >= self._due_s):
            self._reading = asyncio.ensure_future(self._read())
            self._reading.add_done_callback(self._ended)
        return await asyncio.shield(self._reading)

    def _ended(self, reading: asyncio.Future[T]) -> None:
        self._due_s = asyncio.get_running_loop().time() + SHARED_S
        if not reading.cancelled():
            reading.exception()  # those who waited for it may be gone
