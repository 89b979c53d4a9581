"""Decodes whole columns of messages with ptars, in Rust; uncertain messages are left to the codec."""

from dataclasses import MISSING
from enum import IntEnum
from types import UnionType
from typing import Any, get_args, get_origin

import ptars
import pyarrow as pa
import pyarrow.compute as pc

from callboard.messages.bounds import ID_CHARS_MAX, NUMBERS_MAX, PROSE, TEXT_CHARS_MAX
from callboard.messages.codec import UNKNOWN_BYTES_MAX, descriptor_of
from callboard.messages.distribution.topic_messages import Pairs
from callboard.messages.event import Event
from callboard.messages.headers import ENTRIES_MAX, LENGTH_MAX, PATH_CHARS_MAX
from callboard.pipeline.source.columns import kept, message_type, shown_fields

PATHS = frozenset({"paths", "deep_paths"})
CLAIMS = {"length": LENGTH_MAX, "total_bytes": LENGTH_MAX, "entries": ENTRIES_MAX}
CONTROL = r"[\x00-\x1f\x7f]"


def fast_structs(cls: type[Event], payloads: pa.Array) -> tuple[pa.Array, pa.Array] | None:
    """The messages as structs of ``message_type``, and which of them are certain; None if any payload is damaged.

    A message is uncertain if it lacks a demanded field, has an unknown enum number, or may exceed the bounds by which
    the codec would reject or truncate it.
    """
    try:
        batch = _handler(cls).array_to_record_batch(payloads)
    except ValueError:
        return None
    columns = dict(zip(batch.schema.names, batch.columns, strict=True))
    structs, certain = _structs(cls, columns, _all(len(payloads)))
    left = pc.binary_length(payloads)  # some of it may be unknown fields
    if "content" in columns:
        left = pc.subtract(left, pc.fill_null(pc.binary_length(columns["content"]), 0))
    return structs, pc.and_(certain, pc.less_equal(left, UNKNOWN_BYTES_MAX))


@kept
def _handler(cls: type[Event]) -> Any:
    descriptor = descriptor_of(cls)
    pool = ptars.HandlerPool([descriptor.file], ptars.PtarsConfig(enum_repr="string"))
    return pool.get_for_message(descriptor)


def _structs(cls: type[Event], columns: dict[str, pa.Array], there: pa.Array) -> tuple[pa.Array, pa.Array]:
    """The structs of these fields, null where there is none; and which are certain."""
    made, certain = [], _all(len(there))
    for name, kind, default in shown_fields(cls):
        column, good = _field(kind, default, columns[name])
        made.append(column)
        for sure in (good, _within(name, kind, column)):
            if sure is not None:
                certain = pc.and_(certain, sure)
    kept = pa.StructArray.from_arrays(made, fields=list(message_type(cls)), mask=pc.invert(there))
    return kept, pc.or_(certain, pc.invert(there))


def _field(kind: Any, default: Any, column: pa.Array) -> tuple[pa.Array, pa.Array | None]:  # noqa: PLR0911 - by kind
    """A field's values with their defaults, and which of them are certain (None: all)."""
    if kind == Pairs:
        return _pairs(column), None
    if get_origin(kind) is tuple:
        item = get_args(kind)[0]
        plain = {str: pa.string(), int: pa.int64()}.get(item)
        return (column.cast(pa.list_(plain)), None) if plain is not None else _events(item, column)
    if get_origin(kind) is UnionType:
        return _nested(get_args(kind)[0], column)
    if issubclass(kind, Event):
        nested, good = _nested(kind, column)
        return nested, pc.and_(good, column.is_valid())
    if issubclass(kind, IntEnum):
        return _names(kind, default, column)
    types = {str: pa.string(), bytes: pa.binary(), bool: pa.bool_(), int: pa.int64()}
    column = column.cast(types[kind])
    if default is MISSING:
        return column, column.is_valid()
    return pc.fill_null(column, pa.scalar(default, types[kind])), None


def _within(name: str, kind: Any, column: pa.Array) -> pa.Array | None:
    """Which values are certainly within the bounds that the codec checks (None: all)."""
    if get_origin(kind) is tuple:
        short = pc.less_equal(pc.list_value_length(column), NUMBERS_MAX)
        if name not in PATHS:
            return pc.fill_null(short, True)
        paths = column.flatten()
        good = pc.and_(pc.starts_with(paths, "/"), pc.less_equal(pc.utf8_length(paths), PATH_CHARS_MAX))
        bad = set(column.value_parent_indices().filter(pc.invert(good)).to_pylist())
        return pc.and_(pc.fill_null(short, True), pa.array([row not in bad for row in range(len(column))], pa.bool_()))
    if name in CLAIMS:
        return pc.fill_null(pc.and_(pc.greater_equal(column, 0), pc.less_equal(column, CLAIMS[name])), True)
    if kind is not str:
        return None
    length = pc.utf8_length(column)
    if name in PROSE:
        return pc.fill_null(pc.less_equal(length, TEXT_CHARS_MAX), True)
    controls = pc.match_substring_regex(column, CONTROL)
    return pc.fill_null(pc.and_(pc.less_equal(length, ID_CHARS_MAX), pc.invert(controls)), True)


def _names(kind: type[IntEnum], default: Any, column: pa.Array) -> tuple[pa.Array, pa.Array]:
    """The names of an enum's members, without the schema's prefix, and which are certain."""
    numbers = pc.index_in(column, pa.array([f"{kind.__name__.upper()}_{member.name}" for member in kind]))
    names = pa.array([member.name for member in kind]).take(numbers)
    if default is MISSING:
        return names, names.is_valid()
    return pc.if_else(column.is_null(), default.name, names), pc.or_(column.is_null(), names.is_valid())


def _nested(cls: type[Event], column: pa.Array) -> tuple[pa.Array, pa.Array]:
    return _structs(cls, _fields(column), column.is_valid())


def _events(cls: type[Event], column: pa.Array) -> tuple[pa.Array, pa.Array | None]:
    values = column.flatten()
    structs, good = _structs(cls, _fields(values), _all(len(values)))
    lists = pa.ListArray.from_arrays(_offsets(column), structs)
    if not good.false_count:
        return lists, None
    bad = set(column.value_parent_indices().filter(pc.invert(good)).to_pylist())
    return lists, pa.array([row not in bad for row in range(len(column))])


def _pairs(column: pa.Array) -> pa.Array:
    values = column.flatten()
    texts = [pc.fill_null(array, "") for array in _fields(values).values()]
    return pa.ListArray.from_arrays(_offsets(column), pa.StructArray.from_arrays(texts, names=["name", "value"]))


def _all(count: int) -> pa.Array:
    return pa.repeat(True, count)


def _fields(column: pa.Array) -> dict[str, pa.Array]:
    return {field.name: pc.struct_field(column, field.name) for field in column.type}


def _offsets(column: pa.Array) -> pa.Array:
    """The offsets of lists without nulls, relative to the first value."""
    offsets = column.offsets
    return pc.subtract(offsets, offsets[0])
