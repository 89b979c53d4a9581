"""A SQLite file as a repository: content and ledger in one database, one transaction an apply."""

from callboard.backends.repositories.sqlite.repository import SqliteRepository

__all__ = ["SqliteRepository"]
