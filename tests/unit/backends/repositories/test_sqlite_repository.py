"""A repository in a SQLite file, after a write that failed."""

import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from callboard.backends.fence import Token
from callboard.backends.repositories.sqlite import store as module
from callboard.backends.repositories.sqlite.store import SqliteStore
from callboard.errors import LeaderReplaced, RepositoryOccupied, RepositoryUnavailable, SchemaTooNew

FULL = 2


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SqliteStore:
    monkeypatch.setattr(module, "BUSY_TIMEOUT_S", 0.0)
    return SqliteStore(tmp_path / "repository.db")


def test_a_pipe_is_refused_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(RepositoryOccupied, match="is a pipe, a socket or a device"):
        SqliteStore(tmp_path / "pipe").open()


def test_a_save_after_a_failed_draft_is_synced_again(store: SqliteStore, tmp_path: Path) -> None:
    store.open()
    with closing(sqlite3.connect(tmp_path / "repository.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(RepositoryUnavailable):
            store.save(b"draft", durable=False)
    connection = store._connection  # whose own setting it is
    assert connection is not None
    assert connection.execute("PRAGMA synchronous").fetchone() == (FULL,)
    store.close()


def test_a_file_that_could_not_be_reopened_is_reported_as_closed(store: SqliteStore, tmp_path: Path) -> None:
    store.open()
    (tmp_path / "repository.db").rename(tmp_path / "away.db")
    (tmp_path / "repository.db").mkdir()
    with pytest.raises(RepositoryUnavailable):
        store.open()
    with pytest.raises(RepositoryUnavailable, match="is not open; call open"):
        store.save(b"more")
    store.close()


def test_a_file_without_a_token_takes_one_and_is_then_refused_by_older_versions(
    store: SqliteStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.open()
    store.save(b"old")
    store.close()
    with closing(sqlite3.connect(tmp_path / "repository.db", isolation_level=None)) as older:
        older.execute("DROP TABLE fence")
        assert older.execute("PRAGMA user_version").fetchone() == (1,)
    assert store.open() == b"old"
    store.save(b"new", token=Token("log", 5))
    with pytest.raises(LeaderReplaced):
        store.save(b"without")
    monkeypatch.setattr(module, "FORMAT", 1)
    with pytest.raises(SchemaTooNew):
        store.open()
    monkeypatch.undo()
    store.open()
    store.save(b"reset", reset=True)
    monkeypatch.setattr(module, "FORMAT", 1)
    assert store.open() == b"reset"
    store.close()


def test_the_first_write_of_a_leader_is_synced_even_if_it_is_a_draft(store: SqliteStore) -> None:
    store.open()
    statements: list[str] = []
    assert store._connection is not None
    store._connection.set_trace_callback(statements.append)
    for level in ("FULL", "NORMAL"):
        statements.clear()
        store.save(b"draft", durable=False, token=Token("log", 5))
        assert next(each for each in statements if "synchronous" in each) == f"PRAGMA synchronous = {level}"
    store.close()
