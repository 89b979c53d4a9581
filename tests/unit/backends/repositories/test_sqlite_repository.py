"""A repository in a SQLite file, after a write that failed."""

import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from callboard.backends.repositories.sqlite import store as module
from callboard.backends.repositories.sqlite.store import SqliteStore
from callboard.errors import RepositoryOccupied, RepositoryUnavailable

FULL = 2


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SqliteStore:
    monkeypatch.setattr(module, "BUSY_TIMEOUT_S", 0.0)
    return SqliteStore(tmp_path / "repository.db")


def test_a_pipe_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(RepositoryOccupied, match="is a pipe, a socket or a device"):
        SqliteStore(tmp_path / "pipe").open()


def test_what_is_saved_after_a_draft_that_failed_is_synced_again(store: SqliteStore, tmp_path: Path) -> None:
    store.open()
    with closing(sqlite3.connect(tmp_path / "repository.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(RepositoryUnavailable):
            store.save(b"draft", durable=False)
    connection = store._connection  # whose own setting it is
    assert connection is not None
    assert connection.execute("PRAGMA synchronous").fetchone() == (FULL,)
    store.close()


def test_a_file_that_could_not_be_opened_again_is_said_to_be_closed(store: SqliteStore, tmp_path: Path) -> None:
    store.open()
    (tmp_path / "repository.db").rename(tmp_path / "away.db")
    (tmp_path / "repository.db").mkdir()
    with pytest.raises(RepositoryUnavailable):
        store.open()
    with pytest.raises(RepositoryUnavailable, match="is not open; call open"):
        store.save(b"more")
    store.close()
