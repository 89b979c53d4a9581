"""The log on a PostgreSQL server: durable, and shared by processes on any number of hosts."""

from callboard.backends.logs.postgres.log import PostgresLog
from callboard.backends.logs.postgres.outbox import append_within

__all__ = ["PostgresLog", "append_within"]
