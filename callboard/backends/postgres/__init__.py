"""Shared by the log and the repository over PostgreSQL: the server, its errors, and the schema."""

from callboard.errors import ExtraMissing

try:
    import asyncpg as asyncpg
except ModuleNotFoundError as missing:
    raise ExtraMissing("PostgreSQL needs asyncpg; run: pip install 'callboard[postgres]'") from missing
