"""Broken stores for folds."""

import sqlite3
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace

from callboard.backends.fold_store import Fold, Keys, Loaded, Row, Rows
from callboard.backends.fold_stores.generation import Generation
from callboard.backends.fold_stores.sqlite import SqliteFolds
from callboard.errors import RepositoryOccupied
from callboard.testing.conformance.candidates.fold_stores import sqlite_folds as broken_fold_store

__all__ = ["broken_fold_store"]


class IgnoresTheMark(SqliteFolds):
    """Saves over the work of another process."""

    def save(self, was: str, mark: str, rows: Rows) -> str:
        return super().save(super().load({}).mark, mark, rows)


class ClaimsToHaveSaved(SqliteFolds):
    """Compares the marks, but tells the new one whatever came of it."""

    def save(self, was: str, mark: str, rows: Rows) -> str:
        super().save(was, mark, rows)
        return mark


class SavesRowsWithoutTheMark(SqliteFolds):
    """After a restart, they are counted again."""

    def save(self, was: str, mark: str, rows: Rows) -> str:
        return mark if super().save(was, was, rows) == was else super().load({}).mark


class MovesOnBeforeTheRows(SqliteFolds):
    """Two transactions for what is one change."""

    def save(self, was: str, mark: str, rows: Rows) -> str:
        present = super().save(was, mark, {})
        return super().save(mark, mark, rows) if present == mark else present


class SavesHalfABatch(SqliteFolds):
    """Stops at a limit of rows, without a word."""

    def save(self, was: str, mark: str, rows: Rows) -> str:
        return super().save(was, mark, {table: dict(list(each.items())[:1000]) for table, each in rows.items()})


class RemovesNothing(SqliteFolds):
    """Takes None for no change."""

    def save(self, was: str, mark: str, rows: Rows) -> str:
        kept = {table: {key: row for key, row in each.items() if row is not None} for table, each in rows.items()}
        return super().save(was, mark, kept)


class LoadsTheMarkFirst(SqliteFolds):
    """The rows may be newer than the mark, and are here while another process saves: it takes long in between."""

    def load(self, keys: Keys) -> Loaded:
        mark, *_ = [super(LoadsTheMarkFirst, self).load({}).mark for _ in range(50)]
        return Loaded(mark, super().load(keys).rows)


class ScansInItsOwnOrder(SqliteFolds):
    """Upper and lower case are mixed, so pages leave rows out."""

    def scan(self, table: str, after: str, limit: int) -> Loaded:
        mark, rows = super().scan(table, "", 1_000_000)
        page = sorted((each for each in rows[table] if each.lower() > after.lower()), key=str.lower)[:limit]
        return Loaded(mark, {table: {key: rows[table][key] for key in page}})


class RepeatsTheLastKey(SqliteFolds):
    """A page begins where the one before ended."""

    def scan(self, table: str, after: str, limit: int) -> Loaded:
        mark, rows = super().scan(table, after, limit)
        found = {**super().load({table: [after]}).rows.get(table, {}), **rows[table]}
        return Loaded(mark, {table: dict(list(found.items())[:limit])})


class KnowsNoNull(SqliteFolds):
    """Loads false where nothing is known."""

    def scan(self, table: str, after: str, limit: int) -> Loaded:
        mark, rows = super().scan(table, after, limit)
        return Loaded(mark, {table: {key: self._filled(row) for key, row in rows[table].items()}})

    def _filled(self, row: Row) -> Row:
        return tuple(False if value is None else value for value in row)


class ClearsWhatOthersSaved(SqliteFolds):
    """Without a look at the mark."""

    def clear(self, was: str) -> str:
        return super().clear(super().load({}).mark)


class ForgetsTheMarkAlone(SqliteFolds):
    """Leaves the rows when it is cleared."""

    def clear(self, was: str) -> str:
        return super().save(was, "", {})


class PublishesNothing(SqliteFolds):
    """The view stays as it is."""

    def publish(self) -> None:
        super().load({})


class RebuildsInPlace(SqliteFolds):
    """Others see how the rows are made."""

    def rebuild(self) -> None:
        super().clear(super().load({}).mark)


class KeepsOldTables(SqliteFolds):
    """The database grows with every version."""

    def _drop(self, connection: sqlite3.Connection, number: int) -> None:
        connection.execute("DELETE FROM callboard_folds WHERE id = ?", (number,))


class ForgetsOldRows(SqliteFolds):
    """Drops the tables, but still takes them for its own."""

    def _drop(self, connection: sqlite3.Connection, number: int) -> None:
        for name in self._tables(connection, number):
            connection.execute(f"DROP TABLE {name}")


class TakesNamesOfOthers(SqliteFolds):
    """Replaces a view that is not its own."""

    def publish(self) -> None:
        try:
            super().publish()
        except RepositoryOccupied:
            with suppress(sqlite3.Error), self._transaction("IMMEDIATE") as (connection, _):
                connection.execute(f"DROP VIEW {self._fold.view}")
            super().publish()


class MixesCode(SqliteFolds):
    """Goes on with rows that other code of the same version made."""

    def __init__(self, path: str, fold: Fold) -> None:
        super().__init__(path, replace(fold, code=""))


class KnowsNoVersions(SqliteFolds):
    """An old process takes the view back."""

    def _known(self, connection: sqlite3.Connection) -> list[Generation]:
        return [each for each in super()._known(connection) if each.version <= self._fold.version]


class SharesRows(SqliteFolds):
    """All folds of a database have the same."""

    def __init__(self, path: str, fold: Fold) -> None:
        super().__init__(path, replace(fold, name=""))


class TrustsItsNumber(SqliteFolds):
    """Does not notice that its rows were removed, and invents an empty mark for none."""

    def _mark(self, connection: sqlite3.Connection) -> str | None:
        return super()._mark(connection) or ("" if self._id else None)


class CutsKeys(SqliteFolds):
    """Different long ones become the same."""

    def save(self, was: str, mark: str, rows: Rows) -> str:
        return super().save(was, mark, {table: self._cut(each) for table, each in rows.items()})

    def _cut(self, rows: Mapping[str, Row | None]) -> dict[str, Row | None]:
        return {key[:255]: row for key, row in rows.items()}
