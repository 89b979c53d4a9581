"""Backends that fail and delay at random, before or after the operation."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager
from random import Random

from callboard.backends.log import READ_BYTES_MAX, READ_RECORDS_MAX, Bounds, Capability, Log, Retention
from callboard.backends.repository import Entry, Operation, Repository
from callboard.errors import CallboardError, LogUnavailable, RepositoryUnavailable
from callboard.messages.record import NewRecord, Record


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


class FaultyLog:
    """A log with faults; see ``callboard.backends.log.Log``. Without ``keys`` it ignores the records' keys."""

    def __init__(self, log: Log, faults: Faults, *, keys: bool = True) -> None:
        self._log = log
        self._faults = faults
        self._keys = keys

    @property
    def capabilities(self) -> Capability:
        """See ``Log``."""
        return self._log.capabilities if self._keys else self._log.capabilities & ~Capability.KEYS

    async def ensure(self, topic: str) -> None:
        """See ``Log``."""
        async with self._faults.around(LogUnavailable):
            await self._log.ensure(topic)

    async def append(self, topic: str, records: Sequence[NewRecord]) -> list[int]:
        """See ``Log``."""
        if not self._keys:
            records = [NewRecord(payload=record.payload, headers=record.headers) for record in records]
        async with self._faults.around(LogUnavailable):
            return await self._log.append(topic, records)

    async def read(
        self,
        topic: str,
        start: int,
        max_records: int = READ_RECORDS_MAX,
        max_bytes: int = READ_BYTES_MAX,
    ) -> list[Record]:
        """See ``Log``."""
        async with self._faults.around(LogUnavailable):
            return await self._log.read(topic, start, max_records, max_bytes)

    async def wait(self, topic: str, start: int, timeout_s: float) -> bool:
        """See ``Log``."""
        async with self._faults.around(LogUnavailable):
            return await self._log.wait(topic, start, timeout_s)

    async def bounds(self, topic: str) -> Bounds:
        """See ``Log``."""
        async with self._faults.around(LogUnavailable):
            return await self._log.bounds(topic)

    async def trim(self, topic: str, retention: Retention) -> int:
        """See ``Log``."""
        async with self._faults.around(LogUnavailable):
            return await self._log.trim(topic, retention)

    async def identity(self, topic: str) -> str:
        """See ``Log``."""
        async with self._faults.around(LogUnavailable):
            return await self._log.identity(topic)

    async def close(self) -> None:
        """See ``Log``."""
        await self._log.close()


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

    async def apply(self, operations: Iterable[Operation], ledger: bytes) -> None:
        """See ``Repository``."""
        async with self._faults.around(RepositoryUnavailable):
            await self._repository.apply(operations, ledger)

    async def save(self, ledger: bytes, durable: bool = True) -> None:
        """See ``Repository``."""
        async with self._faults.around(RepositoryUnavailable):
            await self._repository.save(ledger, durable)

    async def close(self) -> None:
        """See ``Repository``."""
        await self._repository.close()
