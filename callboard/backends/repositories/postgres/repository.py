"""The PostgreSQL repository for asyncio."""

from collections.abc import Sequence

from callboard.backends.examination import Clock, Finding
from callboard.backends.postgres.examination import examine_server
from callboard.backends.postgres.failure import explained
from callboard.backends.postgres.server import Server
from callboard.backends.repositories.postgres.store import PostgresStore
from callboard.backends.repositories.threaded import ThreadedRepository
from callboard.errors import RepositoryUnavailable


class PostgresRepository(ThreadedRepository):
    """Content in a database: ``postgresql://user@host/database?repository=NAME``, created by the first ``open``.

    Args:
        url: with ``&schema=`` for a schema other than ``callboard``. Any number of repositories share a schema.

    Raises:
        ConfigError: for a URL that names no database or no repository.
    """

    def __init__(self, url: str) -> None:
        super().__init__(PostgresStore(url))
        self._server = Server.of(url)

    async def examine(self, clock: Clock) -> Sequence[Finding]:
        """See ``Examinable``; does not take the repository's lock."""
        with explained(self._server, RepositoryUnavailable):
            return await examine_server(self._server, clock)
