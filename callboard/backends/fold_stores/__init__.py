"""The stores for the results of folds, and the choice among them by name."""

from pathlib import Path

from callboard.backends.address import demand_path, shown
from callboard.backends.fold_store import Fold, FoldStore
from callboard.errors import ConfigError

_KINDS = "write sqlite:FILE or postgresql://user@host/database"


def open_fold_store(where: str, base: Path, fold: Fold) -> FoldStore:
    """The store that ``where`` names, for this fold; nothing is opened or created yet.

    Args:
        where: ``sqlite:FILE``, which may also hold other tables, or ``postgresql://user@host/database``.
        base: the folder that relative paths start from.
        fold: what is to be kept.

    Raises:
        ConfigError: an unknown kind of store.
        ExtraMissing: it needs a package which is not installed.
    """
    kind, _, path = where.partition(":")
    if kind == "sqlite" and path:
        from callboard.backends.fold_stores.sqlite import SqliteFolds
        from callboard.backends.fold_stores.threaded import ThreadedFolds

        return ThreadedFolds(SqliteFolds(str(base / demand_path(path)), fold))
    if kind == "postgresql":
        from callboard.backends.fold_stores.postgres import PostgresFolds

        return PostgresFolds(where, fold)
    raise ConfigError(f"{shown(where)!r} names no place for a table; {_KINDS}")
