"""What an actor can ask of the store of its fold, as data; see ``backends/fold_store.py``. Each result is that of the
method of the same name.
"""

from dataclasses import dataclass

from callboard.actors.core.decision import Perform
from callboard.backends.fold_store import Keys, Rows
from callboard.errors import ConfigError, RepositoryOccupied, SchemaTooNew

LASTING = (ConfigError, RepositoryOccupied, SchemaTooNew)
"""Errors of a store that somebody has to correct: the fold stops, and says why, rather than try again."""


@dataclass(frozen=True, slots=True)
class LoadFold(Perform):
    """Result ``Loaded``."""

    keys: Keys


@dataclass(frozen=True, slots=True)
class ScanFold(Perform):
    """Result ``Loaded``."""

    table: str
    after: str
    limit: int


@dataclass(frozen=True, slots=True)
class SaveFold(Perform):
    """Result: the mark that is in force."""

    was: str
    mark: str
    rows: Rows


@dataclass(frozen=True, slots=True)
class ClearFold(Perform):
    """Result: the mark that is in force."""

    was: str


@dataclass(frozen=True, slots=True)
class PublishFold(Perform):
    """Result None."""


@dataclass(frozen=True, slots=True)
class RebuildFold(Perform):
    """Result None."""
