"""The SQLite repository for asyncio."""

from collections.abc import Sequence
from pathlib import Path

from callboard.backends.examination import Clock, Finding
from callboard.backends.local.folder_examination import examine_place
from callboard.backends.repositories.sqlite.store import SqliteStore
from callboard.backends.repositories.threaded import ThreadedRepository


class SqliteRepository(ThreadedRepository):
    """Content in the file ``path``, which is created if it is missing; ``path`` with ``.lock`` is its lock."""

    def __init__(self, path: Path) -> None:
        super().__init__(SqliteStore(path))
        self._path = path

    async def examine(self, clock: Clock) -> Sequence[Finding]:  # noqa: ARG002 - there is no server's clock to compare
        """See ``Examinable``; does not take the repository's lock."""
        return examine_place("repository", self._path, file=True)
