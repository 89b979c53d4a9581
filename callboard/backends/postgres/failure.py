"""Turns errors of PostgreSQL, asyncpg and the network into callboard's, with advice."""

import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager

from callboard.backends.postgres import asyncpg
from callboard.backends.postgres.server import Server
from callboard.errors import CallboardError, ConfigError, LogUnavailable, RepositoryUnavailable

UNKNOWN_OUTCOME = "Whether the records were written is unknown: append them again with the same keys"

_TO_FIX = {
    "28P01": "correct the user or password in the URL, PGPASSWORD or ~/.pgpass",
    "28000": "the server does not let this user in: correct the user or sslmode in the URL, or pg_hba.conf",
    "3D000": "correct the database in the URL, or create it: createdb",
    "42501": "let the user of the URL own the schema and what is in it, or create it as that user: callboard migrate",
    "42704": "the URL has an option that neither callboard nor the server knows: remove it",
    "22023": "the URL has an option with a value that the server refuses: correct it",
    "3F000": "the schema is not there, or hidden from this user: run callboard migrate",
    "42P01": "the schema is not complete, or hidden from this user: run callboard migrate",
    "42883": "the schema is not complete, or hidden from this user: run callboard migrate",
}
"""Errors that last until a setting is changed, by SQLSTATE."""

_TO_WAIT_FOR = {
    "25006": "it is read-only, perhaps a standby: name the primary, or add target_session_attrs=read-write",
    "53100": "its disk is full: free some space",
    "53300": "it has too many connections: raise max_connections or run fewer processes",
    "57014": "the statement took too long: look for a forgotten transaction in pg_stat_activity",
    "55P03": "a lock took too long: look for a forgotten transaction in pg_stat_activity",
    "57P03": "it is starting or shutting down",
}
_TRANSIENT = ("08", "40", "53", "57", "58", "XX")
"""Classes of SQLSTATE that are not about the statement: connection, conflict, resources, operator, system."""


@contextmanager
def explained(
    server: Server,
    unavailable: type[LogUnavailable | RepositoryUnavailable] = LogUnavailable,
    consequence: str = "Then try again",
) -> Iterator[None]:
    """Raise ``ConfigError`` or ``unavailable`` for an error that comes of using the server."""
    try:
        yield
    except asyncpg.PostgresError as error:
        code = error.sqlstate or ""
        if code in _TO_FIX:
            raise ConfigError(f"{server.name}, schema {server.schema}: {server.said(error)}; {_TO_FIX[code]}") from (
                server.harmless(error)
            )
        if code in _TO_WAIT_FOR or code.startswith(_TRANSIENT):
            full = "No space left" in str(error)  # said with other codes too, such as that of a crash
            advice = _TO_WAIT_FOR.get("53100" if full else code, "see the server's own log")
            raise unavailable(f"{server.name}: {server.said(error)}; {advice}. {consequence}") from (
                server.harmless(error)
            )
        raise
    except (OSError, asyncpg.InterfaceError, asyncpg.InternalClientError) as error:
        raise _unreachable(server, error, unavailable, consequence) from server.harmless(error)


def _unreachable(
    server: Server, error: Exception, unavailable: type[CallboardError], consequence: str
) -> CallboardError:
    said = server.said(error)
    if isinstance(error, ssl.SSLError) or "SSL" in str(error):
        return ConfigError(
            f"{server.name}: {said}; the server and the URL do not agree on TLS: correct sslmode or sslrootcert"
        )
    if isinstance(error, asyncpg.ClientConfigurationError):
        return ConfigError(f"{server.name}: {said}; correct the URL")
    if isinstance(error, socket.gaierror):
        advice = "correct the host in the URL, or the name service"
    elif isinstance(error, TimeoutError):
        advice = "it did not answer in time: check host, port and network"
    else:
        advice = "check that it runs, and host and port in the URL"
    return unavailable(f"{server.name}: {said or type(error).__name__}; {advice}. {consequence}")
