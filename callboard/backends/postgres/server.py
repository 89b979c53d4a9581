"""A PostgreSQL server as a URL names it, and connections to it."""

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlencode, urlsplit

from callboard.backends.passwords import without_password
from callboard.backends.postgres import asyncpg
from callboard.errors import ConfigError

if TYPE_CHECKING:
    Connection = asyncpg.Connection[asyncpg.Record]
else:
    Connection = asyncpg.Connection

CONNECT_TIMEOUT_S = 10.0
"""To reach the server, with the name look-up and TLS."""

COMMAND_TIMEOUT_S = 30.0
"""Of one statement. Who waits longer for an append's lock waits for somebody's forgotten transaction."""

OLDEST_SERVER = 15

SESSION = {
    "application_name": "callboard",
    "enable_bitmapscan": "off",  # a partition without statistics would be read whole and
    "enable_sort": "off",  # sorted for every page: offsets come from the index in order
    "jit": "off",  # compiling takes longer than any of our queries
}
"""The settings of every session."""

_SCHEMA = re.compile(r"[a-z_][a-z0-9_]{0,40}")
_DEFAULT_SCHEMA = "callboard"


@dataclass(frozen=True, slots=True)
class Server:
    """Where things are. ``dsn`` is for asyncpg and may hold a password: only ``name`` is to be shown."""

    dsn: str
    name: str
    schema: str
    repository: str

    @classmethod
    def of(cls, url: str) -> "Server":
        """What a URL such as ``postgresql://user@host/db?schema=callboard`` names.

        ``schema`` and ``repository`` are our own options; the others are asyncpg's (``sslmode``, ...).
        Raises ``ConfigError`` for a URL that names no database.
        """
        parts = urlsplit(url)
        if parts.scheme != "postgresql" or not parts.path.strip("/"):
            raise ConfigError(f"{without_password(url)!r} names no database; write postgresql://user@host:5432/database")
        if "@" in parts.path:  # what is before the slash is taken for the host, and hosts are shown
            raise ConfigError(f"{without_password(url)!r} has a / before the @; write it as %2F in a user or password")
        for port in re.findall(r":(\d*)(?:,|$)", parts.netloc):
            if not 0 < int(port or 5432) < 65536:
                raise ConfigError(f"{without_password(url)!r} has port {port}; correct it")
        options = dict(parse_qsl(parts.query, keep_blank_values=True))
        schema, repository = options.pop("schema", _DEFAULT_SCHEMA), options.pop("repository", "")
        if not _SCHEMA.fullmatch(schema) or schema.startswith("pg_"):
            raise ConfigError(
                f"schema={schema!r} cannot name a schema; use up to 41 of a-z, 0-9 and '_', not beginning with pg_"
            )
        name = f"{options.get('host') or parts.netloc.rpartition('@')[2] or 'localhost'}{parts.path}"
        return cls(parts._replace(query=urlencode(options)).geturl(), name, schema, repository)

    async def connect(self) -> Connection:
        """A new connection, whose search_path is the schema. Raises what asyncpg does; see ``failure``."""
        connection = await asyncpg.connect(
            self.dsn,
            timeout=CONNECT_TIMEOUT_S,
            command_timeout=COMMAND_TIMEOUT_S,
            server_settings={**SESSION, "search_path": f"{self.schema}, pg_temp"},
        )
        try:
            if (version := connection.get_server_version()).major < OLDEST_SERVER:
                raise ConfigError(f"{self.name} is PostgreSQL {version.major}; upgrade it to {OLDEST_SERVER} or newer")
            # Whoever turned it off for other programs would lose acknowledged records with the power.
            await connection.execute(
                "SELECT set_config('synchronous_commit', 'on', false)"
                " WHERE current_setting('synchronous_commit') = 'off'"
            )
        except BaseException:
            connection.terminate()
            raise
        return connection
