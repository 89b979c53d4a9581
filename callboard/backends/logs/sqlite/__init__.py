"""The durable embedded log: one SQLite file per topic, shared by the processes of one host."""

from callboard.backends.logs.sqlite.log import SqliteLog

__all__ = ["SqliteLog"]
