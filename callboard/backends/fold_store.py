"""What a store for the results of folds must do. ``fold_stores/`` has those for SQLite and PostgreSQL.

A fold reads topics and keeps rows, such as the table of a projection or the snapshots of entities. The store changes
the rows together with the fold's *mark*, which says how far it has read. So each record counts once in the rows,
however often the fold is interrupted, and two processes that run the same fold do not spoil each other's work.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

Row = tuple[Any, ...]
"""The values of a row's columns, in their order."""

Keys = Mapping[str, Collection[str]]
"""Keys of rows, by their table."""

Rows = Mapping[str, Mapping[str, Row | None]]
"""Rows by table and key; None for one that is to be removed."""


class Table(NamedTuple):
    """A table with a text key, and columns with a name and the type int, str, bytes, bool or float. None is NULL."""

    name: str
    columns: tuple[tuple[str, type], ...] = ()


@dataclass(frozen=True, slots=True)
class Fold:
    """What a store is to keep.

    Attributes:
        name: of the fold in its database.
        version: of its code. Each version has rows of its own, which begin without a mark.
        code: identifies what else the rows depend on.
        tables: of the fold. The first one is what ``view`` shows.
        view: the name under which others read the rows once they are published; empty for rows that nobody else reads.
        shown: for a store that only reads: the rows are those that the view shows, also while others are made beside
            them. Before any were published, they are those that are being made.
    """

    name: str
    version: int
    code: str
    tables: tuple[Table, ...]
    view: str = ""
    shown: bool = False


class Loaded(NamedTuple):
    """Rows, and the mark that was in force when they were read. Rows that do not exist are left out."""

    mark: str
    rows: dict[str, dict[str, Row]]


class FoldStore(Protocol):
    """Keeps the rows and the mark of one fold. All methods open the store if need be.

    They raise ``RepositoryUnavailable`` when the database cannot be reached, ``ConfigError`` for what has to be
    corrected first, ``RepositoryOccupied`` when a name is something else's, and ``SchemaTooNew`` when the view shows a
    newer version of the fold.
    """

    async def load(self, keys: Keys) -> Loaded:
        """The rows with these keys."""
        ...

    async def scan(self, table: str, after: str, limit: int) -> Loaded:
        """Up to ``limit`` rows in the order of their keys, from behind the key ``after``."""
        ...

    async def save(self, was: str, mark: str, rows: Rows) -> str:
        """Replace, add and remove rows if the mark is ``was``, and set it to ``mark``, in one transaction; return the
        mark that is in force then. If it is another one than ``mark``, nothing was saved.
        """
        ...

    async def clear(self, was: str) -> str:
        """Remove all rows and the mark if it is ``was``; return the mark that is in force then."""
        ...

    async def publish(self) -> None:
        """Let the view show these rows from now on, and remove those of older versions."""
        ...

    async def rebuild(self) -> None:
        """Begin new rows without a mark beside the present ones, which the view shows until ``publish``."""
        ...

    async def close(self) -> None:
        """Release everything; idempotent."""
        ...
