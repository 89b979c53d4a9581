"""Checks projections and reactions that services wrote."""

from pathlib import Path
from typing import Any, get_args

from callboard.actors.entities.entity import Entity
from callboard.actors.entities.projections.batch import ROW_KEY_BYTES_MAX
from callboard.actors.entities.projections.projection import Projection, Reaction
from callboard.actors.entities.projections.settings import ProjectorSettings
from callboard.backends.fold_store import Fold
from callboard.backends.fold_stores import open_fold_store
from callboard.door import limits
from callboard.door.actors.entities import entity_name
from callboard.door.rules import Rule, Unfit, checked, is_storable, number, plain, shown, text, whole
from callboard.errors import ConfigError, RequestRefused
from callboard.messages.declared.registry import declaration_of
from callboard.messages.event import Event
from callboard.messages.topics import TOPIC_NAME, entity_topic

SOURCES_MAX = 100
"""Topics of one projection: each has a reader of its own."""


def row_key(value: Any) -> str:
    """The key of a row, which every database can hold."""
    if not isinstance(value, str) or not is_storable(value) or not 0 < len(value.encode()) <= ROW_KEY_BYTES_MAX:
        raise Unfit(value, f"a text of 1 to {ROW_KEY_BYTES_MAX} bytes of UTF-8, none of them NUL")
    return plain(value)


ARGUMENTS: dict[str, Rule] = {
    "key": row_key,
    "offset": whole(-1, limits.OFFSET_MAX),
    "timeout_s": number(0, limits.TIMEOUT_S_MAX),
}


def projection(of: Any, prefix: str) -> ProjectorSettings:
    """The settings of a projection. Raises ``ConfigError`` if the class is none."""
    if not (isinstance(of, type) and issubclass(of, Projection)):
        raise ConfigError(f"{shown(of)} is no projection; write one as: class Balances(Projection[Balance])")
    bases = [base for cls in of.__mro__ for base in vars(cls).get("__orig_bases__", ())]
    row = next((each for base in bases for each in get_args(base)), None)
    if not (isinstance(row, type) and issubclass(row, Event)) or (its := declaration_of(row)) is None:
        what = f"the class {of.__name__} does not name a declared event as its row"
        raise ConfigError(f"{what}; write it as: class {of.__name__}(Projection[Balance]), with @event above Balance")
    if of.evolve is Projection.evolve:
        raise ConfigError(f"the class {of.__name__} has no evolve()")
    _instance(of)
    return ProjectorSettings(of, row, _topics(of, prefix), its.name)


def reaction(of: Any, prefix: str) -> ProjectorSettings:
    """The settings of a reaction. Raises ``ConfigError`` if the class is none."""
    if not (isinstance(of, type) and issubclass(of, Reaction)):
        raise ConfigError(f"{shown(of)} is no reaction; write one as: class Fulfil(Reaction)")
    if of.react is Reaction.react:
        raise ConfigError(f"the class {of.__name__} has no react()")
    name: str = checked(ConfigError, {"name": text(limits.NAME_CHARS_MAX, least=1, printable=True)}, {"name": of.name})[
        "name"
    ]
    _instance(of)
    return ProjectorSettings(of, None, _topics(of, prefix), name)


def check_place(where: Any, base: Path) -> None:
    """Raises ``ConfigError`` unless this names a place for tables."""
    if not isinstance(where, str) or not where or "\0" in where:
        raise ConfigError(
            f"{shown(where)} names no place for a table; write sqlite:FILE or postgresql://user@host/database"
        )
    open_fold_store(where, base, Fold("", 1, "", ()))


def asked(**given: Any) -> dict[str, Any]:
    """Arguments of the methods of projections. Raises ``RequestRefused``."""
    return checked(RequestRefused, ARGUMENTS, given)


def _instance(of: type) -> None:
    try:
        of()
    except Exception as error:  # whatever it raises
        raise ConfigError(f"a {of.__name__} cannot be made: {error}; it is made without arguments") from error


def _topics(of: type[Projection[Any]] | type[Reaction], prefix: str) -> tuple[tuple[str, type[Entity] | None], ...]:
    sources: object = of.sources
    if not isinstance(sources, tuple | list) or not 0 < len(sources) <= SOURCES_MAX:
        what = f"{of.__name__}.sources is {shown(sources)}"
        raise ConfigError(f"{what}; name up to {SOURCES_MAX} classes of entities or topics: sources = (Account,)")
    topics: dict[str, type[Entity] | None] = {}
    for each in sources:
        if isinstance(each, str):
            if not TOPIC_NAME.fullmatch(each):
                raise ConfigError(f"{of.__name__}.sources has {shown(each)}, which cannot be the name of a topic")
            topics[each] = None
        else:
            topics[entity_topic(entity_name(each), prefix)] = each
    return tuple(topics.items())
