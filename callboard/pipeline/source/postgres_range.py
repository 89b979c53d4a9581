"""Reads a topic of a PostgreSQL log by binary COPY into Arrow, without a Python object per record."""

from collections.abc import Iterator

import adbc_driver_postgresql.dbapi as adbc
import pyarrow as pa

from callboard.backends.logs.limits import missing
from callboard.backends.postgres.server import SESSION, Server
from callboard.errors import LogUnavailable

SOURCES = {"offset": "off", "key_sha256": "key"}
"""The log's names of columns, where they differ."""


def copied(url: str, name: str, start: int, stop: int, columns: pa.Schema) -> Iterator[pa.RecordBatch]:
    """The records in ``[start, stop)``, in order. Does not check for trimmed records; see ``log_range``.

    Raises ``LogUnavailable`` and ``TopicMissing``.
    """
    server = Server.of(url)
    wanted = ", ".join(f'{SOURCES.get(column, column)} AS "{column}"' for column in columns.names)
    try:
        with adbc.connect(server.dsn) as connection, connection.cursor() as cursor:
            for setting, value in SESSION.items():
                cursor.execute(f"SET {setting} = {value}")
            cursor.execute(f"SELECT id FROM {server.schema}.topics WHERE name = '{name}'")  # noqa: S608 - checked names
            row = cursor.fetchone()
            if row is None:
                raise missing(name)
            cursor.execute(
                f"SELECT {wanted} FROM {server.schema}.records_{row[0]} "  # noqa: S608 - as above
                f"WHERE off >= {int(start)} AND off < {int(stop)} ORDER BY off"
            )
            for batch in cursor.fetch_record_batch():
                yield pa.RecordBatch.from_arrays(list(batch.columns), schema=columns)
    except adbc.OperationalError as error:
        said = server.said(error)
        raise LogUnavailable(f"{server.name} cannot be read: {said}; try again") from server.harmless(error)
