"""Where services keep snapshots and tables, and what an operator does to these while the services run."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Protocol


class Place(Protocol):
    """Snapshots and tables of one test."""

    snapshots: str
    tables: str

    def forget_snapshots(self) -> None:
        """Remove the snapshots."""

    def copy_tables(self) -> None:
        """Keep a copy of the tables."""

    def restore_tables(self) -> bool:
        """Put the copy in their place; False if there is none."""

    def rows(self, view: str) -> dict[str, dict[str, Any]]:
        """The rows under this view by their keys, as other programs see them; none if there is no view yet."""


class SqlitePlace:
    """Files in a folder."""

    def __init__(self, folder: Path) -> None:
        self._snapshots, self._tables, self._copy = (
            folder / name for name in ("snapshots.db", "tables.db", "tables.copy")
        )
        self.snapshots, self.tables = f"sqlite:{self._snapshots}", f"sqlite:{self._tables}"

    def forget_snapshots(self) -> None:
        """The file alone, as most people do it: SQLite has two more beside it."""
        self._snapshots.unlink(missing_ok=True)

    def copy_tables(self) -> None:
        """By SQLite itself, in one transaction."""
        if self._tables.exists():
            _copy(self._tables, self._copy)

    def restore_tables(self) -> bool:
        """As ``.restore`` in the command line of SQLite does it."""
        if self._copy.exists():
            _copy(self._copy, self._tables)
        return self._copy.exists()

    def rows(self, view: str) -> dict[str, dict[str, Any]]:
        """Read by the client of SQLite."""
        with closing(sqlite3.connect(self._tables, timeout=10)) as connection:
            connection.row_factory = sqlite3.Row
            try:
                found = connection.execute(f'SELECT * FROM "{view}"').fetchall()
            except sqlite3.OperationalError as error:
                if "no such table" in str(error):
                    return {}
                raise
        return {row["key"]: {name: row[name] for name in row.keys() if name != "key"} for row in found}  # noqa: SIM118


def _copy(source: Path, target: Path) -> None:
    with closing(sqlite3.connect(source)) as own, closing(sqlite3.connect(target, timeout=10)) as other:
        own.backup(other)


@contextmanager
def sqlite_place(folder: Path) -> Iterator[Place]:
    """Files in this folder."""
    yield SqlitePlace(folder)
