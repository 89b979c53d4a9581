"""Backends that fail and delay at random, before or after the operation."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from random import Random

from callboard.backends.fence import Token
from callboard.backends.log import Capability, Log
from callboard.backends.logs.passing_log import P, PassingLog, T
from callboard.backends.repository import Entry, Operation, Repository
from callboard.errors import CallboardError, LogUnavailable, RepositoryUnavailable
from callboard.messages.record import NewRecord


class Faults:
    """When to fail, and how long to delay.

    Args:
        rng: decides.
        share: the share of calls that fail while ``active``; half of them after the operation.
        slow_s: one call in ten takes up to this many seconds more.
    """

    def __init__(self, rng: Random, share: float = 0.05, slow_s: float = 0.5) -> None:
        self._rng = rng
        self._share = share
        self._slow_s = slow_s
        self.active = True
        self.count = 0

    @asynccontextmanager
    async def around(self, kind: type[CallboardError]) -> AsyncIterator[None]:
        """Wraps an operation; may raise ``kind`` before or after it."""
        await self._dawdle()
        self._fail(kind)
        yield
        await self._dawdle()
        self._fail(kind)

    async def _dawdle(self) -> None:
        if self.active and self._rng.random() < 0.1:
            await asyncio.sleep(self._rng.uniform(0, self._slow_s))

    def _fail(self, kind: type[CallboardError]) -> None:
        if self.active and self._rng.random() < self._share / 2:
            self.count += 1
            raise kind("a fault was injected; nothing is wrong")


class FaultyLog(PassingLog):
    """A log with faults. Without ``keys`` it ignores the records' keys."""

    def __init__(self, log: Log, faults: Faults, *, keys: bool = True) -> None:
        super().__init__(log)
        self._faults = faults
        self._keys = keys

    @property
    def capabilities(self) -> Capability:
        """See ``Log``."""
        return super().capabilities if self._keys else super().capabilities & ~Capability.KEYS

    async def append(self, topic: str, records: Sequence[NewRecord]) -> list[int]:
        """See ``Log``."""
        return await super().append(topic, records if self._keys else [replace(record, key="") for record in records])

    async def _pass(self, call: Callable[P, Awaitable[T]], *args: P.args, **kwargs: P.kwargs) -> T:
        async with self._faults.around(LogUnavailable):
            return await call(*args, **kwargs)


class FaultyRepository:
    """A repository with faults; see ``callboard.backends.repository.Repository``."""

    def __init__(self, repository: Repository, faults: Faults) -> None:
        self._repository = repository
        self._faults = faults

    def entries(self, path: str, deep: bool) -> Iterator[Entry]:
        """See ``Source``."""
        return self._repository.entries(path, deep)

    async def open(self, occupied: bool = False) -> bytes:
        """See ``Repository``."""
        async with self._faults.around(RepositoryUnavailable):
            return await self._repository.open(occupied)

    async def apply(self, operations: Iterable[Operation], ledger: bytes, token: Token | None = None) -> None:
        """See ``Repository``."""
        async with self._faults.around(RepositoryUnavailable):
            await self._repository.apply(operations, ledger, token)

    async def save(self, ledger: bytes, durable: bool = True, token: Token | None = None, reset: bool = False) -> None:
        """See ``Repository``."""
        async with self._faults.around(RepositoryUnavailable):
            await self._repository.save(ledger, durable, token, reset)

    async def close(self) -> None:
        """See ``Repository``."""
        await self._repository.close()
