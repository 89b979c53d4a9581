"""Entities as rows of a store."""

import json
from zlib import crc32

from callboard.actors.entities.entity import Entity
from callboard.actors.entities.held import Held, Made
from callboard.backends.fold_store import Fold, Row, Table
from callboard.errors import Undecodable
from callboard.messages.codec import decode, encode
from callboard.messages.declared.proto import proto
from callboard.messages.declared.registry import declaration_of

FORMAT = 1
"""Of the rows."""

HELD, ACTIVE = "held", "active"

VERSION = 2
"""The place of the version in a row."""

_COLUMNS = ("state", bytes), ("there", bool), ("version", int), ("last", int), ("as_of", int), ("made", str)
_TABLES = Table(HELD, (*_COLUMNS, ("checksum", int))), Table(ACTIVE)
"""``active`` has the keys of the processes that have something to do."""


def snapshots(entity: type[Entity], topic: str, log: str) -> Fold:
    """What a store keeps of the entities of a class. Snapshots of another version of the class, or of a class with
    other fields, are not used; neither are those of another ``log``.
    """
    its = declaration_of(entity)
    assert its is not None
    return Fold(f"{topic} of {log}", its.version, f"{FORMAT} {crc32(proto(entity).encode())}", _TABLES)


def row_of(held: Held, as_of: int) -> Row | None:
    """The row of an entity with all commits below the offset ``as_of``; None if its state is not known."""
    if held.problem:
        return None
    held.forget(as_of)
    try:
        state = encode(held.state)
    except (TypeError, ValueError) as error:  # its code has changed
        held.problem, held.code = f"its state cannot be encoded: {error}", "state_unknown"
        return None
    made = json.dumps([(command_id, *its) for command_id, its in held.made.items()], separators=(",", ":"))
    row = state, held.exists, held.version, held.last, as_of, made
    return *row, crc32(repr(row).encode())


def held_in(row: Row, initial: Entity) -> Held:
    """The entity in a row. Raises ``Undecodable`` for a row that is damaged."""
    *values, checksum = row
    if crc32(repr(tuple(values)).encode()) != checksum:
        raise Undecodable("its checksum is wrong")
    payload, there, version, last, as_of, told = values
    made = {command_id: Made(*its) for command_id, *its in json.loads(told)}
    state = decode(type(initial), payload)
    return Held(state, there, version, last, made, as_of=as_of)
