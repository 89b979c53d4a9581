"""Runs a blocking repository in one thread of its own, which keeps its calls in order."""

import asyncio
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, Protocol, TypeVar

from callboard.backends.fence import Token
from callboard.backends.repository import Entry, Operation

P = ParamSpec("P")
T = TypeVar("T")


class BlockingRepository(Protocol):
    """The methods of a ``Repository`` as ordinary functions. Reading may happen in any thread."""

    def entries(self, path: str, deep: bool) -> Iterator[Entry]:
        """See ``Source.entries``."""

    def open(self, occupied: bool = False) -> bytes:
        """See ``Repository.open``."""

    def apply(self, operations: Iterable[Operation], ledger: bytes, token: Token | None = None) -> None:
        """See ``Repository.apply``."""

    def save(self, ledger: bytes, durable: bool = True, token: Token | None = None, reset: bool = False) -> None:
        """See ``Repository.save``."""

    def close(self) -> None:
        """See ``Repository.close``."""


class ThreadedRepository:
    """A ``Repository`` made of a blocking one.

    A cancelled call continues in the thread to its end; the next one waits for it.
    """

    def __init__(self, blocking: BlockingRepository) -> None:
        self._blocking = blocking
        self._thread: ThreadPoolExecutor | None = None

    def entries(self, path: str, deep: bool) -> Iterator[Entry]:
        """See ``Source.entries``."""
        return self._blocking.entries(path, deep)

    async def open(self, occupied: bool = False) -> bytes:
        """See ``Repository.open``."""
        return await self._call(self._blocking.open, occupied)

    async def apply(self, operations: Iterable[Operation], ledger: bytes, token: Token | None = None) -> None:
        """See ``Repository.apply``."""
        await self._call(self._blocking.apply, operations, ledger, token)

    async def attempt(
        self, before: bytes, operations: Iterable[Operation], ledger: bytes, token: Token | None = None
    ) -> None:
        """See ``Attempting``: one switch to the thread, which costs more than a small import."""
        await self._call(self._attempt, before, operations, ledger, token)

    async def save(self, ledger: bytes, durable: bool = True, token: Token | None = None, reset: bool = False) -> None:
        """See ``Repository.save``."""
        await self._call(self._blocking.save, ledger, durable, token, reset)

    async def close(self) -> None:
        """See ``Repository.close``."""
        if self._thread is not None:
            await self._call(self._blocking.close)
            self._thread.shutdown()
            self._thread = None

    def _attempt(self, before: bytes, operations: Iterable[Operation], ledger: bytes, token: Token | None) -> None:
        self._blocking.save(before, durable=False, token=token)
        self._blocking.apply(operations, ledger, token)

    async def _call(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        if self._thread is None:
            self._thread = ThreadPoolExecutor(1, thread_name_prefix="repository")
        return await asyncio.get_running_loop().run_in_executor(self._thread, lambda: function(*args, **kwargs))
