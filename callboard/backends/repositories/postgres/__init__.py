"""A schema of a PostgreSQL database as a repository: an apply changes content and ledger in one transaction."""

from callboard.backends.repositories.postgres.repository import PostgresRepository

__all__ = ["PostgresRepository"]
