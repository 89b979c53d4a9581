"""Opens the log that a URL names."""

from pathlib import Path

from callboard.backends.address import demand_path, shown
from callboard.backends.log import Log
from callboard.backends.offered import LOGS, offered, open_offered
from callboard.errors import ConfigError

_OWN = ("kafka", "memory", "postgresql", "sqlite")


def open_log(url: str, base: Path) -> Log:
    """The log that a URL names, opened with its first use.

    Args:
        url: ``memory:``, a new log of this process; ``sqlite:///./board.db``, a folder relative to ``base``;
            ``sqlite:////var/lib/board.db``, an absolute one; ``postgresql://user@host/database``, a schema of a
            PostgreSQL database; ``kafka://host:port,host:port``, a Kafka cluster; or a scheme that
            an installed package offers.
        base: the folder that relative paths start from.

    Raises:
        ConfigError: for an unknown scheme or an invalid URL.
        ExtraMissing: for a scheme that needs a package which is not installed.
    """
    scheme, colon, _ = url.partition(":")
    if not colon:
        raise ConfigError(f"{shown(url)!r} is not the URL of a log; write for instance sqlite:///./board.db")
    match scheme:
        case "memory":
            return _open_memory(url)
        case "sqlite":
            return _open_sqlite(url, base)
        case "postgresql":
            from callboard.backends.logs.postgres import PostgresLog

            return PostgresLog(url)
        case "kafka":
            from callboard.backends.logs.kafka import open_kafka

            return open_kafka(url)
    others = offered(LOGS)
    if scheme in others:
        log: Log = open_offered(others[scheme], url, base)
        return log
    known = ", ".join(sorted({*_OWN, *others}))
    raise ConfigError(f"no log is known for {shown(url)!r}; use one of {known}")


def _open_memory(url: str) -> Log:
    if url not in ("memory:", "memory://"):
        raise ConfigError(f"{shown(url)!r} has more than a log in memory takes; write memory:")
    from callboard.backends.logs.memory import MemoryLog

    return MemoryLog()


def _open_sqlite(url: str, base: Path) -> Log:
    prefix, path = "sqlite:///", url[len("sqlite:///") :]
    if not url.startswith(prefix) or not path:
        raise ConfigError(
            f"{shown(url)!r} names no folder; write sqlite:///./board.db, "
            "or sqlite:////var/lib/board.db for an absolute path"
        )
    from callboard.backends.logs.sqlite import SqliteLog

    return SqliteLog(base / demand_path(path))
