"""The file of a topic: its schema, and how it is created, opened and recognised."""

import os
import secrets
import sqlite3
from pathlib import Path
from typing import NamedTuple

from callboard.backends.local.access import PRIVATE_FOLDER, share, shared_mode
from callboard.backends.local.disk import sync_folder
from callboard.backends.logs.limits import missing
from callboard.backends.logs.sqlite.bell import Bell, remembered
from callboard.backends.logs.sqlite.turn import Turn
from callboard.errors import ConfigError, LogReplaced, LogUnavailable, SchemaTooNew, TopicMissing

VERSION = 1
"""Of the schema, kept in the file as ``user_version``."""

BUSY_S = 5.0
"""How long to wait for a program that locks the file without taking turns."""

_CREATION = ("page_size=4096", "auto_vacuum=INCREMENTAL", "journal_mode=WAL")
PRAGMAS = ("synchronous=FULL", "wal_autocheckpoint=1000", "journal_size_limit=16777216", "secure_delete=OFF")
_SCHEMA = (
    # AUTOINCREMENT: no offset is assigned twice, even after everything was trimmed
    """CREATE TABLE records(
        offset INTEGER PRIMARY KEY AUTOINCREMENT,
        time_ns INTEGER NOT NULL,
        key TEXT,
        headers BLOB NOT NULL,
        payload BLOB NOT NULL
    )""",
    "CREATE UNIQUE INDEX records_by_key ON records(key) WHERE key IS NOT NULL",
    "CREATE TABLE incarnation(identity TEXT NOT NULL)",
    "INSERT INTO incarnation VALUES('')",
    "INSERT INTO sqlite_sequence VALUES('records', 0)",
    f"PRAGMA user_version={VERSION}",
)


Inodes = tuple[tuple[int, int] | None, tuple[int, int] | None]


class Files(NamedTuple):
    """The paths of a topic's files."""

    topic: str
    database: Path
    wal: Path
    lock: Path
    bell: Path

    @classmethod
    def of(cls, folder: Path, topic: str) -> "Files":
        """The files of a topic in the log's folder."""
        return cls(topic, *(folder / f"{topic}.{end}" for end in ("db", "db-wal", "lock", "bell")))


def prepare(files: Files) -> None:
    """Create the topic, or check that this version can use it, in a turn of its own."""
    folder = files.database.parent
    folder.mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)
    bell, turn = Bell(files.bell), Turn(files.lock)
    try:
        with turn:
            for end in ("", "-wal", "-shm"):
                share(files.database.with_name(files.database.name + end), shared_mode(folder))
            open_writable(files, bell, create=True).close()
    finally:
        turn.close()
        bell.close()


def open_writable(files: Files, bell: Bell, *, create: bool = False) -> sqlite3.Connection:
    """A read-write connection; open, use and close it in a turn.

    A restored older copy, which has not assigned all offsets that the bell remembers, gets a new identity and
    continues above them. Raises the same as ``open_readable``, and ``LogUnavailable`` for a file that was
    emptied.
    """
    if create and _is_new(files):
        if files.database.exists() and (newest := remembered(bell.heard(), None)):  # it was truncated
            raise LogUnavailable(
                f"{files.database} is empty although it had records up to offset {newest}; stop the board and "
                "restore a copy, or remove the file to start with an empty topic"
            )
        _create(files)
    open_readable(files).close()  # check the file before a writer's pragmas touch it
    db = _connect(files.database, "rw")
    try:
        for pragma in PRAGMAS:
            db.execute(f"PRAGMA {pragma}").fetchall()
        newest = remembered(bell.heard(), lineage(db) if identity(db) else None)
        if newest_given(db) < newest or not identity(db):
            _renew(db, newest)
    except BaseException:
        db.close()
        raise
    return db


def open_readable(files: Files) -> sqlite3.Connection:
    """A read-only connection, which never checkpoints.

    Where nothing can be written, a file at rest is opened as immutable: SQLite would create files of its own beside it.

    Raises ``TopicMissing``, ``SchemaTooNew``, or ``ConfigError`` for a file that is something else.
    """
    check_exists(files)
    db = _connect(files.database, "ro")
    try:
        try:
            version = _version(db)
        except sqlite3.OperationalError:
            if not _rests_unwritable(files):
                raise
            db.close()
            db = _connect(files.database, "ro&immutable=1")
            version = _version(db)
        if version > VERSION:
            raise SchemaTooNew(
                f"{files.database} has schema {version} and this callboard knows {VERSION}; upgrade callboard"
            )
        if version == 0:
            if db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
                raise ConfigError(f"{files.database} is not a log of callboard; choose another folder")
            raise missing(files.topic)  # its creator has not finished
    except BaseException:
        db.close()
        raise
    return db


def check_exists(files: Files) -> None:
    """Raise ``TopicMissing`` if the topic has no file."""
    if not files.database.exists():
        raise missing(files.topic)


def newest_given(db: sqlite3.Connection) -> int:
    """The newest offset that the topic has assigned, whether it is retained or not."""
    return int(db.execute("SELECT seq FROM sqlite_sequence WHERE name = 'records'").fetchone()[0])


def identity(db: sqlite3.Connection) -> str:
    """The random name of this incarnation."""
    return str(db.execute("SELECT identity FROM incarnation").fetchone()[0])


def lineage(db: sqlite3.Connection) -> int:
    """A random number that a file and its copies have from its creation on."""
    return int(db.execute("PRAGMA application_id").fetchone()[0])


def inodes(files: Files) -> Inodes:
    """Identifies the file and its write-ahead log, which stays as long as a connection is open."""
    return _inode(files.database), _inode(files.wal)


def check_in_use(files: Files, opened: Inodes) -> None:
    """Raise ``LogReplaced`` if another file is in the place of one that was opened, ``LogUnavailable`` if none is."""
    for path, was, now in zip((files.database, files.wal), opened, inodes(files), strict=True):
        if was == now or was is None:
            continue
        remedy = "stop every process of this board and start again"
        if now is None:
            raise LogUnavailable(f"{path} was removed while in use; put it back, or {remedy}")
        raise LogReplaced(f"{path} was replaced while in use; {remedy}")


def _inode(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    # isolation_level=None: transactions begin and end explicitly, on every version of Python
    uri = f"{path.absolute().as_uri()}?mode={mode}"
    return sqlite3.connect(uri, uri=True, timeout=BUSY_S, isolation_level=None, check_same_thread=False)


def _version(db: sqlite3.Connection) -> int:
    return int(db.execute("PRAGMA user_version").fetchone()[0])


def _rests_unwritable(files: Files) -> bool:
    """Whether no process has the file open for writing, and its folder is read-only: a mount, or a copy to inspect."""
    return not os.access(files.database.parent, os.W_OK) and not (files.wal.exists() and files.wal.stat().st_size)


def _is_new(files: Files) -> bool:
    if files.database.with_name(f"{files.database.name}-journal").exists():
        _roll_back(files)
    try:
        open_readable(files).close()
    except TopicMissing:
        return True
    return False


def _roll_back(files: Files) -> None:
    """Undo the work of a creator that was killed before the file had a WAL; a read-only connection cannot."""
    if files.database.exists():
        db = _connect(files.database, "rw")
        try:
            _version(db)
        finally:
            db.close()


def _create(files: Files) -> None:
    folder = files.database.parent
    os.close(os.open(files.database, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600))
    share(files.database, shared_mode(folder))  # SQLite gives the same mode to the files that it creates beside it
    db = _connect(files.database, "rw")
    try:
        for pragma in (*_CREATION, f"application_id={secrets.randbits(31)}"):
            db.execute(f"PRAGMA {pragma}").fetchall()
        db.execute("BEGIN IMMEDIATE")
        for statement in _SCHEMA:
            db.execute(statement)
        db.execute("COMMIT")
    finally:
        db.close()
    sync_folder(folder)  # so that the files themselves survive a power failure


def _renew(db: sqlite3.Connection, above: int) -> None:
    db.execute("BEGIN IMMEDIATE")
    db.execute("UPDATE incarnation SET identity = lower(hex(randomblob(16)))")
    db.execute("UPDATE sqlite_sequence SET seq = max(seq, ?) WHERE name = 'records'", (above,))
    db.execute("COMMIT")
