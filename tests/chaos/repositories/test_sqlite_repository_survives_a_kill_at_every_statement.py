"""A SQLite repository is killed before each of its statements in turn; what SQLite does inside one is its own.

The child is forked from this process before anything is opened, for SQLite does not survive a fork.
"""

import os
import shutil
import signal
import sqlite3
from pathlib import Path

import pytest

from callboard.backends.fence import Token
from callboard.backends.repositories.sqlite.store import SqliteStore
from callboard.errors import LeaderReplaced
from callboard.testing.conformance.repository.every_change import NEW, OLD
from callboard.testing.conformance.repository.harness import Shape, shape

FIVE, SIX, SEVEN = (Token("log", epoch) for epoch in (5, 6, 7))

STATEMENTS_MAX = 1000
"""No run makes more statements, or it does not end."""


def settled(path: Path) -> tuple[bytes, dict[str, Shape]]:
    store = SqliteStore(path)
    try:
        ledger = store.open()
        return ledger, {entry.path: shape(entry) for entry in store.entries("/", deep=True)}
    finally:
        store.close()


def admits(path: Path, token: Token) -> bool:
    """Whether the repository takes a write with this token."""
    store = SqliteStore(path)
    try:
        store.save(store.open(), token=token)
    except LeaderReplaced:
        return False
    finally:
        store.close()
    return True


class _DyingStore(SqliteStore):
    """Kills its process before the given statement."""

    def __init__(self, path: Path, statement: int) -> None:
        super().__init__(path)
        self._left = statement

    def _connect(self) -> sqlite3.Connection:
        connection = super()._connect()
        connection.set_trace_callback(self._count)
        return connection

    def _count(self, _: str) -> None:
        self._left -= 1
        if self._left == 0:
            os.kill(os.getpid(), signal.SIGKILL)


def killed_at(path: Path, statement: int) -> bool:
    child = os.fork()
    if child == 0:
        try:
            store = _DyingStore(path, statement)
            store.open()
            store.apply(NEW, b"new", SEVEN)
            store.save(b"newer", durable=False, token=SEVEN)
            os.kill(os.getpid(), signal.SIGTERM)
        finally:
            os._exit(1)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status), "the apply failed"
    return os.WTERMSIG(status) == signal.SIGKILL


@pytest.mark.proves("F72", "W7")
def test_a_kill_before_any_statement_leaves_the_old_or_the_new_state(tmp_path: Path) -> None:
    states = []
    store = SqliteStore(tmp_path / "old.db")
    for operations, ledger, token in ((OLD, b"old", FIVE), (NEW, b"new", SEVEN)):
        store.open()
        store.apply(operations, ledger, token)
        store.close()
        states.append(settled(tmp_path / "old.db"))
        if ledger == b"old":
            shutil.copy(tmp_path / "old.db", tmp_path / "template.db")  # it is closed: no log beside it
    old, new = states
    outcomes = []
    for statement in range(1, STATEMENTS_MAX):
        path = tmp_path / f"{statement}.db"
        shutil.copy(tmp_path / "template.db", path)
        if not killed_at(path, statement):
            break
        outcomes.append(settled(path))
        assert admits(path, SIX) == (outcomes[-1] == old)
    else:
        pytest.fail("the apply does not end")
    assert settled(path) == (b"newer", new[1])
    assert len(outcomes) > 50
    assert all(outcome in (old, new, (b"newer", new[1])) for outcome in outcomes)
    assert outcomes.count(new) >= 2, "killed between the commit of the apply and that of the save"
