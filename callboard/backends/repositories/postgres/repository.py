"""The PostgreSQL repository for asyncio."""

from callboard.backends.repositories.postgres.store import PostgresStore
from callboard.backends.repositories.threaded import ThreadedRepository


class PostgresRepository(ThreadedRepository):
    """Content in a database: ``postgresql://user@host/database?repository=NAME``, created with the first ``open``.

    Args:
        url: with ``&schema=`` for another one than ``callboard``. Any number of repositories share a schema.

    Raises:
        ConfigError: for a URL that names no database or no repository.
    """

    def __init__(self, url: str) -> None:
        super().__init__(PostgresStore(url))
