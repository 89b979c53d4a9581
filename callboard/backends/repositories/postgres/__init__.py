"""A schema of a PostgreSQL database as a repository: content and ledger in one transaction an apply."""

from callboard.backends.repositories.postgres.repository import PostgresRepository

__all__ = ["PostgresRepository"]
