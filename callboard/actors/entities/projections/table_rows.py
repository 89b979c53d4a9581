"""Rows of projections as rows of a store."""

from dataclasses import fields
from enum import IntEnum
from math import isnan
from typing import get_type_hints
from zlib import crc32

from callboard.actors.entities.projections.settings import ProjectorSettings
from callboard.backends.fold_store import Fold, Row, Table
from callboard.errors import ConfigError
from callboard.messages.codec import encode
from callboard.messages.declared.proto import proto
from callboard.messages.declared.registry import declaration_of
from callboard.messages.event import Event

ROWS, SEEN = "rows", "seen"

COLUMN_TYPES = (int, str, bytes, bool, float)

VIEW_CHARS_MAX = 63
"""PostgreSQL cuts longer names."""

_SEEN = Table(SEEN, (("last", int), ("version", int)))
"""The last commit of each entity: the next one counts if it names it."""


def fold_of(settings: ProjectorSettings) -> Fold:
    """What a store keeps of a projection or reaction. Raises ``ConfigError`` for rows that no table can hold."""
    topics = [topic for topic, _ in settings.topics]
    if settings.row is None:  # a new version goes on where the old one was
        return Fold(f"reaction {settings.name}", 1, "", (_SEEN,))
    its = declaration_of(settings.row)
    assert its is not None
    view = its.name.replace(".", "_")
    if len(view) > VIEW_CHARS_MAX:
        raise ConfigError(f"the name {its.name!r} is too long for a table; use up to {VIEW_CHARS_MAX} characters")
    code = f"{crc32(proto(settings.row).encode())} {' '.join(topics)}"
    return Fold(its.name, its.version, code, (Table(ROWS, Columns(settings.row).columns), _SEEN), view)


class Columns:
    """How the rows of a projection are stored. Raises ``ConfigError`` for a field that no column can hold."""

    def __init__(self, row: type[Event]) -> None:
        self._row = row
        self._names = tuple(each.name for each in fields(row) if each.name != "unknown")
        kinds = get_type_hints(row)
        self._enums = {name: kinds[name] for name in self._names if _is_enum(kinds[name])}
        self.columns = tuple((name, self._column(name, kinds[name])) for name in self._names)
        named = [(place, *column) for place, column in enumerate(self.columns)]
        self._checked = [each for each in named if each[2] in (str, float) or each[1] in self._enums]

    def _column(self, name: str, kind: type) -> type:
        if name == "key":
            raise ConfigError(f"{self._row.__name__} has a field 'key', as every table; give it another name")
        if kind not in COLUMN_TYPES and name not in self._enums:
            what = f"{self._row.__name__}.{name} cannot be a column"
            raise ConfigError(f"{what}; use int, str, bytes, bool, float or an IntEnum")
        return int if name in self._enums else kind

    def stored(self, row: Event) -> Row:
        """The row for the store. Raises ``TypeError`` or ``ValueError`` for values that it cannot hold."""
        encode(row)  # checks types and sizes
        values = [getattr(row, name) for name in self._names]
        for place, name, kind in self._checked:
            value = values[place]
            if kind is str and "\0" in value:
                raise ValueError(f"{name} has a zero character, which PostgreSQL cannot hold")
            if kind is float and isnan(value):
                raise ValueError(f"{name} is not a number, which SQLite cannot hold")
            if name in self._enums:
                values[place] = int(value)
        return tuple(values)

    def loaded(self, values: Row) -> Event:
        """The row of a store as an event."""
        named = dict(zip(self._names, values, strict=True))
        for name, kind in self._enums.items():
            named[name] = kind(named[name])
        return self._row(**named)


def _is_enum(kind: object) -> bool:
    return isinstance(kind, type) and issubclass(kind, IntEnum)
