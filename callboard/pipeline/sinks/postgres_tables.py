"""Publishes the tables of a run to a PostgreSQL database: all tables and their reach, in one transaction."""

from collections.abc import Callable, Iterable
from pathlib import Path

import adbc_driver_postgresql.dbapi as adbc
import pyarrow.parquet as pq

from callboard.backends.postgres.server import Server
from callboard.errors import LogReplaced, LogUnavailable
from callboard.pipeline.sinks.reach import Reach

PUBLISHED = ("standing", "error_queue", "failure_rate", "latency", "queue", "queue_size")
"""The tables that stay small. ``outcome`` has a row for each package and subscriber, so it goes to files only."""

_REACH = """CREATE TABLE IF NOT EXISTS reach (
    single boolean PRIMARY KEY DEFAULT true CHECK (single), log_id text NOT NULL, package bigint NOT NULL,
    status bigint NOT NULL, discovery bigint NOT NULL)"""


def publish(url: str, folder: Path, reach: Reach, on_table: Callable[[str], None] = lambda _: None) -> bool:
    """Replace the tables in the schema ``SCHEMA_projection``; False if the existing ones already reach as far.

    A run that is killed leaves the old tables with their reach; concurrent runs wait for each other.

    Args:
        url: of a database, like a log's; ``?schema=`` applies.
        folder: of a complete run, with a folder of Parquet files for each table.
        reach: what the run has read.
        on_table: called with the name of each table written.

    Raises:
        LogReplaced: the existing tables are about another log.
        LogUnavailable: the database cannot be used now.
    """
    server = Server.of(url)
    schema = f"{server.schema}_projection"
    try:
        with adbc.connect(server.dsn) as connection, connection.cursor() as cursor:
            _run(cursor, (f"CREATE SCHEMA IF NOT EXISTS {schema}", f"SET LOCAL search_path TO {schema}", _REACH,
                          "LOCK TABLE reach IN EXCLUSIVE MODE"))  # fmt: skip
            cursor.execute("SELECT log_id, package, status, discovery FROM reach")
            if (row := cursor.fetchone()) is not None:
                if row[0] != reach.log_id:
                    raise LogReplaced(
                        f"schema {schema} of {server.name} is about another log ({row[0][:8]} instead of "
                        f"{reach.log_id[:8]}); drop it, or name another schema"
                    )
                if not reach.is_beyond(dict(zip(("package", "status", "discovery"), row[1:], strict=True))):
                    return False
            for name in PUBLISHED:
                table = pq.read_table(folder / name)
                cursor.execute(f"DROP TABLE IF EXISTS {name}")
                cursor.adbc_ingest(name, table, mode="create", db_schema_name=schema)
                on_table(name)
            cursor.execute(
                "INSERT INTO reach(log_id, package, status, discovery) VALUES ($1, $2, $3, $4) "
                "ON CONFLICT (single) DO UPDATE SET package = $2, status = $3, discovery = $4",
                (reach.log_id, reach.package, reach.status, reach.discovery),
            )
            connection.commit()
    except adbc.OperationalError as error:
        said = server.said(error)
        raise LogUnavailable(f"{server.name} cannot be used: {said}; try again") from server.harmless(error)
    return True


def _run(cursor: "adbc.Cursor", statements: Iterable[str]) -> None:
    for statement in statements:
        cursor.execute(statement)
