"""The built-in repositories, and the choice among them by name."""

from pathlib import Path

from callboard.backends.address import demand_path, shown
from callboard.backends.offered import REPOSITORIES, offered, open_offered
from callboard.backends.repository import Repository
from callboard.errors import ConfigError

_KINDS = "write folder:PATH, sqlite:PATH, postgresql://user@host/database?repository=NAME or a path alone"
_SQLITE_SUFFIXES = {".db", ".sqlite"}


def open_repository(where: str, base: Path) -> Repository:
    """The repository that ``where`` names; nothing is opened or created yet.

    Args:
        where: ``folder:PATH``, ``sqlite:PATH``, ``postgresql://user@host/database?repository=NAME``, a scheme that an
            installed package offers, or a path alone: one that ends in .db or .sqlite is a SQLite file, any other a
            folder.
        base: the folder that relative paths start from.

    Raises:
        ConfigError: an unknown kind of repository.
        ExtraMissing: it needs a package which is not installed.
    """
    # Imported here, since these modules import the checks beside them, and so this module.
    from callboard.backends.repositories.folder import FolderRepository
    from callboard.backends.repositories.sqlite import SqliteRepository

    kind, colon, path = where.partition(":")
    if not colon or "/" in kind:
        kind, path = "sqlite" if Path(where).suffix in _SQLITE_SUFFIXES else "folder", where
    if not path:
        raise ConfigError(f"repository {shown(where)!r} has no path; {_KINDS}")
    if kind == "folder":
        return FolderRepository(base / demand_path(path))
    if kind == "sqlite":
        if path.startswith(("///./", "///../")):
            raise ConfigError(f"{where!r} is how a log is written; a repository is {f'sqlite:{path[3:]}'!r}")
        return SqliteRepository(base / demand_path(path))
    if kind == "postgresql":
        from callboard.backends.repositories.postgres import PostgresRepository

        return PostgresRepository(where)
    if kind in (others := offered(REPOSITORIES)):
        repository: Repository = open_offered(others[kind], where, base)
        return repository
    raise ConfigError(f"unknown kind of repository {shown(where)!r}; {_KINDS}")
