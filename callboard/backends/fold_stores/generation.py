"""Which of the rows that a database has for a fold are its own: pure, the same for all stores."""

from collections.abc import Sequence
from typing import NamedTuple

from callboard.backends.fold_store import Fold
from callboard.errors import ConfigError, SchemaTooNew

KEPT = 2
"""Rows without a view that are kept beside one's own: during an upgrade, old and new processes take turns."""


class Generation(NamedTuple):
    """Rows of a version of a fold; ``id`` grows with each."""

    id: int
    version: int
    code: str
    published: bool


def opened(known: Sequence[Generation], fold: Fold, where: str) -> tuple[Generation | None, Sequence[Generation]]:
    """The rows to go on with, if there are any, and those to remove.

    Raises ``SchemaTooNew`` and ``ConfigError`` for a fold whose view shows rows that it must not replace.
    """
    own = [each for each in known if (each.version, each.code) == (fold.version, fold.code)]
    found = own[-1] if own else None
    if not fold.view:
        others = [each for each in known if each not in own]
        return found, others[: max(0, len(others) - KEPT)]
    for each in known:
        if each.version > fold.version and each.published:
            what = f"{where} shows version {each.version} of {fold.name!r}, and this process has {fold.version}"
            raise SchemaTooNew(f"{what}; upgrade it")
        if each.version == fold.version and each.code != fold.code:
            what = f"{where} has version {fold.version} of {fold.name!r} with other fields or sources"
            raise ConfigError(f"{what}; give the event of its rows a new version")
    return found, ()


def outdated_by(number: int, known: Sequence[Generation], fold: Fold, where: str) -> Sequence[Generation]:
    """The rows to remove when those with this number are published. Raises as ``opened``: others may have published
    rows since.
    """
    opened(known, fold, where)
    return [each for each in known if (each.version, each.id) < (fold.version, number)]
