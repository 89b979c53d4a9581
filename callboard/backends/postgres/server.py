"""A PostgreSQL server as a URL names it, and connections to it."""

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlencode, urlsplit

from callboard.backends.address import HIDDEN, host_shown, shown
from callboard.backends.echo import harmless, masked, quoted
from callboard.backends.postgres import asyncpg
from callboard.errors import ConfigError

if TYPE_CHECKING:
    Connection = asyncpg.Connection[asyncpg.Record]
else:
    Connection = asyncpg.Connection

CONNECT_TIMEOUT_S = 10.0
"""To reach the server, including name look-up and TLS."""

COMMAND_TIMEOUT_S = 30.0
"""Of one statement. An append that waits longer for the lock waits for a forgotten transaction."""

OLDEST_SERVER = 15

SESSION = {
    "application_name": "callboard",
    "enable_bitmapscan": "off",  # a partition without statistics would be read whole and
    "enable_sort": "off",  # sorted for every page: offsets come from the index in order
    "jit": "off",  # compiling takes longer than any of our queries
}
"""The settings of every session."""

WORDS = (
    "callboard postgresql localhost user password passfile service host port database dbname schema repository "
    "sslmode sslcert sslkey sslpassword sslrootcert sslcrl ssl_min_protocol_version ssl_max_protocol_version "
    "disable allow prefer require verify-ca verify-full direct target_session_attrs read-write read-only primary "
    "standby prefer-standby any application_name options gsslib krbsrvname timeout"
)
"""Names and values of a URL's options, which errors may repeat."""

_SCHEMA = re.compile(r"[a-z_][a-z0-9_]{0,40}")
_DEFAULT_SCHEMA = "callboard"
_USER = re.compile(r"[a-z_][a-z0-9_]{0,62}")
_UNREADABLE = (
    "cannot be read as postgresql://user@host:5432/database; a port is 1 to 65535, and what is special in a user or a "
    "password is written with a %: %40 for @, %2F for /, %3A for :"
)


@dataclass(frozen=True, slots=True)
class Server:
    """A database and schema. ``dsn`` is for asyncpg and may hold a password: show only ``name``."""

    dsn: str = field(repr=False)
    name: str
    schema: str
    repository: str

    @classmethod
    def of(cls, url: str, default_schema: str = _DEFAULT_SCHEMA) -> "Server":
        """Parse a URL such as ``postgresql://user@host/db?schema=callboard``; the default is for one without a schema.

        ``schema`` and ``repository`` are callboard's options; the others are asyncpg's (``sslmode``, ...).
        Raises ``ConfigError`` for a URL that names no database.
        """
        if not url.startswith("postgresql://") or "@" in url.partition("//")[2].partition("/")[2].partition("?")[0]:
            raise ConfigError(f"{shown(url)!r} {_UNREADABLE}")
        try:
            parts = urlsplit(url)
        except ValueError:  # its text repeats parts of the URL
            raise ConfigError(f"{shown(url)!r} {_UNREADABLE}") from None
        hosts = parts.netloc.rpartition("@")[2]
        if not parts.path.strip("/"):
            raise ConfigError(f"{shown(url)!r} names no database; write postgresql://user@host:5432/database")
        # asyncpg takes the text after the first @ for the host: it would look up the end of a password as a name.
        if host_shown(hosts) == HIDDEN or parts.netloc.count("@") > 1:
            raise ConfigError(f"{shown(url)!r} {_UNREADABLE}")
        options = dict(parse_qsl(parts.query, keep_blank_values=True))
        schema, repository = options.pop("schema", default_schema), options.pop("repository", "")
        if not _SCHEMA.fullmatch(schema) or schema.startswith("pg_"):
            raise ConfigError(
                f"schema={quoted(schema)} cannot name a schema; use up to 41 of a-z, 0-9 and '_', and not pg_ at first"
            )
        where = host_shown(options.get("host") or hosts or "localhost")
        _, slashes, path = shown(f"postgresql://{parts.path}").partition("//")
        name = f"{where}{path if slashes else f'/{HIDDEN}'}"
        return cls(parts._replace(query=urlencode(options)).geturl(), name, schema, repository)

    def said(self, error: Exception) -> str:
        """The text of an error, in one line and without the secrets of the URL."""
        user = self.dsn.partition("//")[2].partition("@")[0].partition(":")[0]
        words = f"{WORDS} {user}" if _USER.fullmatch(user) else WORDS
        return masked(", ".join(str(error).splitlines()), self.dsn, known=words)

    def harmless(self, error: Exception) -> BaseException | None:
        """The error as a cause, if it repeats no secret."""
        return harmless(error, self.dsn, known=WORDS)

    async def connect(self) -> Connection:
        """A new connection, whose search_path is the schema. Raises asyncpg's errors; see ``failure``."""
        try:
            connection = await asyncpg.connect(
                self.dsn,
                timeout=CONNECT_TIMEOUT_S,
                command_timeout=COMMAND_TIMEOUT_S,
                server_settings={**SESSION, "search_path": f"{self.schema}, pg_temp"},
            )
        except ValueError as error:  # from asyncpg itself, or from parsing the URL
            if isinstance(error, asyncpg.InterfaceError | OSError):
                raise
            raise ConfigError(f"{self.name}: {self.said(error)}; correct the URL") from self.harmless(error)
        try:
            if (version := connection.get_server_version()).major < OLDEST_SERVER:
                raise ConfigError(f"{self.name} is PostgreSQL {version.major}; upgrade it to {OLDEST_SERVER} or newer")
            # If it is turned off for other programs, a power failure would lose acknowledged records.
            await connection.execute(
                "SELECT set_config('synchronous_commit', 'on', false)"
                " WHERE current_setting('synchronous_commit') = 'off'"
            )
        except BaseException:
            connection.terminate()
            raise
        return connection
