"""The SQLite repository for asyncio."""

from pathlib import Path

from callboard.backends.repositories.sqlite.store import SqliteStore
from callboard.backends.repositories.threaded import ThreadedRepository


class SqliteRepository(ThreadedRepository):
    """Content in the file ``path``, which is created if it is missing; ``path`` with ``.lock`` is its lock."""

    def __init__(self, path: Path) -> None:
        super().__init__(SqliteStore(path))
