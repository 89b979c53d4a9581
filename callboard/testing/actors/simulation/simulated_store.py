"""A store of folds for simulated hosts: a real SQLite database in memory, which can be away, or be set back."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from random import Random

from callboard.backends.fold_store import Fold, Keys, Loaded, Rows
from callboard.backends.fold_stores.sqlite import MEMORY, SqliteFolds
from callboard.errors import RepositoryUnavailable
from callboard.testing.simulation.engine.fates import after_deed, before_deed

COPIES = 5
"""Older copies that are kept."""

COPIED = 0.5
"""The share of saves of which there is a copy."""


class MemoryFolds(SqliteFolds):
    """A database in memory, which can be copied."""

    def copy(self) -> sqlite3.Connection:
        """Everything in it."""
        assert self._connection is not None
        copy = sqlite3.connect(MEMORY)
        self._connection.backup(copy)
        return copy

    def restore(self, copy: sqlite3.Connection) -> None:
        """Put a copy in its place."""
        assert self._connection is not None
        copy.backup(self._connection)


class SimulatedStore:
    """See ``FoldStore``; closing it is the end of one of its users only."""

    def __init__(self, fold: Fold, rng: Random) -> None:
        self._folds, self._rng = MemoryFolds(MEMORY, fold), rng
        self._copies: list[sqlite3.Connection] = []
        self._away = 0

    async def away(self, seconds: float) -> None:
        """Be away for this time."""
        self._away += 1
        await asyncio.sleep(seconds)
        self._away -= 1

    def restore(self) -> bool:
        """Put an older copy in its place; False if there is none."""
        if self._copies:
            self._folds.restore(self._rng.choice(self._copies))
        return bool(self._copies)

    def rows(self, table: str) -> dict[str, tuple[object, ...]]:
        """All rows of a table."""
        return self._folds.scan(table, "", 1_000_000).rows[table]

    async def load(self, keys: Keys) -> Loaded:
        """See ``FoldStore.load``."""
        async with self._deed():
            return self._folds.load(keys)

    async def scan(self, table: str, after: str, limit: int) -> Loaded:
        """See ``FoldStore.scan``."""
        async with self._deed():
            return self._folds.scan(table, after, limit)

    async def save(self, was: str, mark: str, rows: Rows) -> str:
        """See ``FoldStore.save``."""
        async with self._deed():
            result = self._folds.save(was, mark, rows)
            if self._rng.random() < COPIED:
                self._copies = [*self._copies, self._folds.copy()][-COPIES:]
            return result

    async def clear(self, was: str) -> str:
        """See ``FoldStore.clear``."""
        async with self._deed():
            return self._folds.clear(was)

    async def publish(self) -> None:
        """See ``FoldStore.publish``."""
        async with self._deed():
            self._folds.publish()

    async def rebuild(self) -> None:
        """See ``FoldStore.rebuild``."""
        async with self._deed():
            self._folds.rebuild()

    async def close(self) -> None:
        """See ``FoldStore.close``."""

    @asynccontextmanager
    async def _deed(self) -> AsyncIterator[None]:
        await before_deed(RepositoryUnavailable)
        if self._away:
            raise RepositoryUnavailable("the store is away; nothing is wrong")
        yield
        await after_deed(RepositoryUnavailable)
