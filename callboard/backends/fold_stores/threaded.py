"""Runs a blocking store in one thread of its own, which keeps its calls in order."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

from callboard.backends.fold_store import Keys, Loaded, Rows
from callboard.backends.fold_stores.sqlite import SqliteFolds

P = ParamSpec("P")
T = TypeVar("T")


class DirectFolds:
    """A ``FoldStore`` made of a blocking one, which is called at once: for simulations."""

    def __init__(self, blocking: SqliteFolds) -> None:
        self._blocking = blocking

    async def load(self, keys: Keys) -> Loaded:
        """See ``FoldStore.load``."""
        return await self._call(self._blocking.load, keys)

    async def scan(self, table: str, after: str, limit: int) -> Loaded:
        """See ``FoldStore.scan``."""
        return await self._call(self._blocking.scan, table, after, limit)

    async def save(self, was: str, mark: str, rows: Rows) -> str:
        """See ``FoldStore.save``."""
        return await self._call(self._blocking.save, was, mark, rows)

    async def clear(self, was: str) -> str:
        """See ``FoldStore.clear``."""
        return await self._call(self._blocking.clear, was)

    async def publish(self) -> None:
        """See ``FoldStore.publish``."""
        await self._call(self._blocking.publish)

    async def rebuild(self) -> None:
        """See ``FoldStore.rebuild``."""
        await self._call(self._blocking.rebuild)

    async def close(self) -> None:
        """See ``FoldStore.close``."""
        await self._call(self._blocking.close)

    async def _call(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        return function(*args, **kwargs)


class ThreadedFolds(DirectFolds):
    """The same, called in a thread. A cancelled call continues in the thread to its end; the next one waits for it."""

    _thread: ThreadPoolExecutor | None = None

    async def close(self) -> None:
        """See ``FoldStore.close``."""
        if self._thread is not None:
            await super().close()
            self._thread.shutdown()
            self._thread = None

    async def _call(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        if self._thread is None:
            self._thread = ThreadPoolExecutor(1, thread_name_prefix="fold")
        return await asyncio.get_running_loop().run_in_executor(self._thread, lambda: function(*args, **kwargs))
