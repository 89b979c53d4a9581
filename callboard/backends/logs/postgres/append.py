"""The append itself: records as array arguments of the schema's function, each key once."""

from collections.abc import Sequence
from hashlib import sha256

from callboard.backends.postgres import asyncpg
from callboard.backends.postgres.server import Connection
from callboard.errors import ConfigError

_WRONG_ISOLATION = "CB001"

Row = tuple[bytes | None, bytes, bytes]
"""A record as stored: key, encoded headers, payload. The key is its digest, which fits into an index."""


def digest_of(key: str) -> bytes:
    """A key as it is stored."""
    return sha256(key.encode()).digest()


async def append_rows(connection: Connection, function: str, rows: Sequence[Row], time_ns: int) -> list[int]:
    """Write the rows in one statement, with the topic's own function, and return their offsets.

    Raises ``ConfigError`` for a wrong isolation level, and asyncpg's errors.
    """
    if not rows:
        return []
    places, sent = _distinct(rows) if any(key for key, _, _ in rows) else (range(len(rows)), rows)
    keys, headers, payloads = zip(*sent, strict=True)
    statement = f"SELECT {function}($1, $2, $3, $4)"
    try:
        offsets = await connection.fetchval(statement, time_ns, keys if any(keys) else None, headers, payloads)
    except asyncpg.PostgresError as error:
        if error.sqlstate == _WRONG_ISOLATION:
            raise ConfigError(f"{error}; begin it without another isolation level") from None
        raise
    return [offsets[place] for place in places]


def _distinct(rows: Sequence[Row]) -> tuple[Sequence[int], Sequence[Row]]:
    """The rows without repeated keys, and for each row the place of the first one with its key."""
    places, sent, place_of = list[int](), list[Row](), dict[bytes, int]()
    for row in rows:
        place = place_of.setdefault(row[0], len(sent)) if row[0] else len(sent)
        if place == len(sent):
            sent.append(row)
        places.append(place)
    return places, sent
