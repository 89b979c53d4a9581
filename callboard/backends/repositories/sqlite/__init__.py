"""A SQLite file as a repository: an apply changes content and ledger in one transaction."""

from callboard.backends.repositories.sqlite.repository import SqliteRepository

__all__ = ["SqliteRepository"]
