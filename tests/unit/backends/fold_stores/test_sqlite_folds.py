"""Folds in a SQLite file: what can happen to the file."""

import os
import resource
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from callboard.backends.fold_store import Fold, Row, Table
from callboard.backends.fold_stores import open_fold_store, sqlite
from callboard.backends.fold_stores.sqlite import SqliteFolds
from callboard.errors import ConfigError, RepositoryOccupied, RepositoryUnavailable
from tests.tidy.sources import ROOT

FOLD = Fold("numbers", 1, "", (Table("rows", (("number", int), ("text", str))),), "all_numbers")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "folds.db"


@pytest.fixture
def store(path: Path) -> Iterator[SqliteFolds]:
    it = SqliteFolds(str(path), FOLD)
    yield it
    it.close()


def save(store: SqliteFolds, mark: int, keys: range = range(50)) -> None:
    """Rows with the mark as their number, whatever is there."""
    rows: dict[str, Row | None] = {f"{key:04}": (mark, "x" * 100) for key in keys}
    assert store.save(store.load({}).mark, str(mark), {"rows": rows}) == str(mark)


def content(store: SqliteFolds) -> tuple[str, list[int]]:
    """The mark, and the numbers of the rows."""
    mark, rows = store.scan("rows", "", 10_000)
    return mark, [number for number, _ in rows["rows"].values()]


def test_a_copy_in_the_place_of_the_file_is_what_counts(store: SqliteFolds, path: Path) -> None:
    for number in range(1, 5):
        save(store, number, range(number * 100))
    shutil.copy(path, path.with_suffix(".copy"))
    before = content(store)
    for number in range(5, 20):
        save(store, number, range(number * 7, number * 40))
    path.with_suffix(".copy").replace(path)
    assert content(store) == before == ("4", [4] * 400)
    save(store, 5)
    assert content(store) == ("5", [5] * 50 + [4] * 350)


def test_a_copy_after_a_crash_is_not_mixed_with_what_was_lost(store: SqliteFolds, path: Path, tmp_path: Path) -> None:
    save(store, 1)
    shutil.copy(path, path.with_suffix(".copy"))
    save(store, 2, range(500))
    crashed = tmp_path / "crashed"  # as a killed process leaves its files
    crashed.mkdir()
    for each in path.parent.glob("folds.db*"):
        shutil.copy(each, crashed)
    shutil.copy(path.with_suffix(".copy"), crashed / path.name)
    restored = SqliteFolds(str(crashed / path.name), FOLD)
    assert content(restored) == ("1", [1] * 50)
    restored.close()


def test_a_reader_does_not_hold_up_a_save(store: SqliteFolds, path: Path) -> None:
    save(store, 1)
    with closing(sqlite3.connect(path, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM callboard_folds")
        save(store, 2)
        assert reader.execute("SELECT mark FROM callboard_folds").fetchall() == [("1",)]
        reader.execute("COMMIT")
        assert reader.execute("SELECT mark FROM callboard_folds").fetchall() == [("2",)]
    assert content(store) == ("2", [2] * 50)


def test_a_removed_file_begins_anew(store: SqliteFolds, path: Path) -> None:
    save(store, 1)
    path.unlink()
    assert content(store) == ("", [])
    save(store, 2)
    path.unlink()
    assert store.save("2", "3", {}) == ""
    assert content(store) == ("", [])


def test_a_number_that_another_fold_got_in_a_new_file_is_not_used(store: SqliteFolds, path: Path) -> None:
    save(store, 1)
    path.unlink()
    other = SqliteFolds(str(path), replace(FOLD, name="other", view="others"))
    save(other, 7)
    assert content(store) == ("", [])
    save(store, 2, range(60))
    assert content(other) == ("7", [7] * 50)
    assert content(store) == ("2", [2] * 60)
    other.close()


def test_a_folder_that_is_missing_is_created(tmp_path: Path) -> None:
    store = SqliteFolds(str(tmp_path / "a" / "b" / "folds.db"), FOLD)
    save(store, 1)
    store.close()
    assert (tmp_path / "a" / "b" / "folds.db").is_file()


def test_a_file_that_is_no_database_stays_as_it_is(store: SqliteFolds, path: Path) -> None:
    for text in ("These are my notes.\n" * 100, "short"):
        path.write_text(text)
        for _ in range(2):
            with pytest.raises(RepositoryUnavailable, match=r"folds\.db.*not a database.*remove it"):
                store.load({})
        assert path.read_text() == text
        assert list(path.parent.iterdir()) == [path]
        path.unlink()
    save(store, 1)
    assert content(store) == ("1", [1] * 50)


def test_what_is_no_file_is_refused(store: SqliteFolds, path: Path) -> None:
    path.mkdir()
    with pytest.raises(RepositoryOccupied, match="is no file; choose another place"):
        store.load({})
    path.rmdir()
    os.mkfifo(path)
    with pytest.raises(RepositoryOccupied, match="is no file; choose another place"):
        store.save("", "1", {})
    path.unlink()
    save(store, 1)


def test_a_file_in_the_place_of_the_folder_is_named(path: Path) -> None:
    path.write_text("mine")
    store = SqliteFolds(str(path / "folds.db"), FOLD)
    with pytest.raises(RepositoryUnavailable, match=r"folds\.db.*then try again"):
        store.load({})
    assert path.read_text() == "mine"


def test_tables_of_others_in_the_file_stay(store: SqliteFolds, path: Path) -> None:
    with closing(sqlite3.connect(path)) as db:
        db.executescript("CREATE TABLE mine (a); INSERT INTO mine VALUES (17); PRAGMA user_version = 3")
    save(store, 1)
    store.publish()
    store.rebuild()
    store.publish()
    store.clear("")
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("SELECT a FROM mine").fetchall() == [(17,)]
        assert db.execute("PRAGMA user_version").fetchall() == [(3,)]


def test_a_full_disk_undoes_the_save_and_is_reported(store: SqliteFolds) -> None:
    save(store, 1)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, limits[1]))
    try:
        with pytest.raises(RepositoryUnavailable, match=r"free space.*then try again"):
            save(store, 2, range(5000))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert content(store) == ("1", [1] * 50)
    save(store, 2, range(5000))
    assert content(store) == ("2", [2] * 5000)


def test_a_busy_file_is_a_temporary_error(store: SqliteFolds, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save(store, 1)
    store.close()
    monkeypatch.setattr(sqlite, "BUSY_TIMEOUT_S", 0.01)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        assert content(store) == ("1", [1] * 50)
        with pytest.raises(RepositoryUnavailable, match=r"locked.*end what holds it"):
            save(store, 2)
        other.execute("COMMIT")
    save(store, 2)
    assert content(store) == ("2", [2] * 50)


def test_a_column_that_sqlite_cannot_have_is_told_once_and_for_all(path: Path) -> None:
    store = SqliteFolds(str(path), replace(FOLD, tables=(Table("rows", (("a", int), ("A", int))),)))
    with pytest.raises(ConfigError, match=r"duplicate column name.*correct that"):
        store.load({})


def test_a_place_is_a_file_or_a_database(tmp_path: Path) -> None:
    for where in ("", "sqlite:", "folds.db", "mysql://host/db"):
        with pytest.raises(ConfigError, match="names no place for a table"):
            open_fold_store(where, tmp_path, FOLD)
    with pytest.raises(ConfigError, match="names no database"):
        open_fold_store("postgresql://user@host", tmp_path, FOLD)


SNAPSHOTS = replace(FOLD, view="")

SUSPENDED = """
import sys
from tests.unit.backends.fold_stores import test_sqlite_folds as test

test.sqlite._EMPTY_THE_WAL = ""  # it is suspended before that
store = test.SqliteFolds(sys.argv[1], test.SNAPSHOTS)
test.save(store, 1, range(500))
print("saved", flush=True)
sys.stdin.readline()
test.save(store, 3)
"""


def test_snapshots_that_are_removed_while_services_run_are_made_again(path: Path) -> None:
    command = [sys.executable, "-c", SUSPENDED, str(path)]
    with (
        subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other,
        closing(SqliteFolds(str(path), SNAPSHOTS)) as store,
    ):
        assert other.stdin is not None
        assert other.stdout is not None
        assert other.stdout.readline() == "saved\n"
        assert content(store)[0] == "1"
        path.unlink()
        save(store, 2)
        assert content(store) == ("2", [2] * 50)
        other.stdin.write("\n")
        other.stdin.close()
        assert other.wait(60) == 0
        assert content(store) == ("3", [3] * 50)
