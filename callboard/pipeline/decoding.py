"""Turns batches of records into the columns of a topic. What cannot be decoded stays, with the problem."""

import re
from collections.abc import Mapping
from enum import IntEnum
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from callboard.errors import SchemaTooNew, Undecodable
from callboard.messages.distribution import Pairs
from callboard.messages.event import Event
from callboard.messages.headers import RecordHeaders, open_record
from callboard.messages.package_event import EventMarks, open_event
from callboard.messages.record import Record, unpack_headers
from callboard.pipeline.columns import NAMED, message_type, messages_of, shown_fields

try:
    from callboard.pipeline.fast_decoding import fast_structs
except ModuleNotFoundError:  # ptars is not there for every platform; the codec is some six times slower
    fast_structs = None  # type: ignore[assignment]

_BLOCK = (
    r"^type\x00(?P<type>[A-Za-z][^\x00]*)\x00version\x00(?P<version>1(?:\.[0-9]{1,9})?)(?:\x00id\x00(?P<id>[^\x00]*))?"
    r"(?:\x00time_ns\x00[0-9]{1,19})?(?:\x00cause\x00[^\x00]*)?(?:\x00traceparent\x00[^\x00]*)?"
    r"(?:\x00producer\x00(?P<producer>[^\x00]*))?(?:\x00publisher\x00(?P<publisher>[^\x00]*))?"
    r"(?:\x00kind\x00[^\x00]*)?(?:\x00recipients\x00[^\x00]*)?$"
)
"""A block of headers as callboard writes it, with a version that this process knows; others are unpacked singly."""


def decoded(raw: pa.RecordBatch, topic: str, columns: pa.Schema, *, fast: bool = True) -> pa.RecordBatch:
    """The records as rows with these columns, which may be a part of ``record_columns``, also within a message.

    Args:
        raw: with the columns of ``RAW`` that are needed.
        topic: package, status, discovery, command or event.
        columns: what is wanted.
        fast: use ptars if it is installed; the result is the same.
    """
    found: dict[str, pa.Array] = {name: raw.column(name) for name in raw.schema.names}
    messages = {name: cls for name, cls in messages_of(topic).items() if name in columns.names}
    if messages or "problem" in columns.names or set(NAMED.names).intersection(columns.names):
        named, regular = _named(found["headers"])
        found |= named
        if messages or "problem" in columns.names:
            found |= _Decoder(raw, topic, found["type"], regular, fast=fast).columns()
    return pa.RecordBatch.from_arrays([_part(found[field.name], field.type) for field in columns], schema=columns)


class _Decoder:
    """Decodes one batch: whole columns at a time where that can be done, record by record what is left."""

    def __init__(self, raw: pa.RecordBatch, topic: str, types: pa.Array, regular: pa.Array, *, fast: bool) -> None:
        self._raw, self._messages = raw, messages_of(topic)
        self._types, self._regular = types, regular
        self._fast = fast and fast_structs is not None and topic != "event"

    def columns(self) -> dict[str, pa.Array]:
        """The columns of messages, and ``problem``."""
        left = set(range(self._raw.num_rows))
        parts: dict[str, tuple[pa.Array, list[int]]] = {}
        if self._fast:
            for name, cls in self._messages.items():
                rows = pc.indices_nonzero(pc.and_(self._regular, pc.equal(self._types, cls.__name__).fill_null(False)))
                if len(rows) and (made := fast_structs(cls, self._raw.column("payload").take(rows))) is not None:
                    structs, good = made
                    kept = rows.filter(good).to_pylist()
                    parts[name] = (structs.filter(good), kept)
                    left.difference_update(kept)
        slow: dict[str, dict[int, Any]] = {name: {} for name in self._messages}
        problems: dict[int, str] = {}
        for row in sorted(left):
            self._decode(row, slow, problems)
        columns = {name: self._column(name, parts.get(name), slow[name]) for name in self._messages}
        return columns | {"problem": pa.array([problems.get(row) for row in range(self._raw.num_rows)], pa.string())}

    def _decode(self, row: int, slow: Mapping[str, dict[int, Any]], problems: dict[int, str]) -> None:
        record = Record(
            offset=self._raw.column("offset")[row].as_py(),
            time_ns=self._raw.column("time_ns")[row].as_py(),
            payload=self._raw.column("payload")[row].as_py(),
            header_block=self._raw.column("headers")[row].as_py(),
        )
        try:
            event = open_event(record) if "event" in self._messages else self._open(record)
        except (Undecodable, SchemaTooNew) as error:
            problems[row] = str(error)
            return
        for name, cls in self._messages.items():
            if isinstance(event, cls):
                slow[name][row] = plain(event)
        if not isinstance(event, (EventMarks, *self._messages.values())):
            problems[row] = f"it is a {type(event).__name__}, which this topic has no column for"

    def _open(self, record: Record) -> Event:
        return open_record(record, tuple(self._messages.values()))

    def _column(self, name: str, part: tuple[pa.Array, list[int]] | None, slow: Mapping[int, Any]) -> pa.Array:
        kind, count = message_type(self._messages[name]), self._raw.num_rows
        if part is not None and len(part[1]) == count:
            return part[0]
        structs, rows = part or (pa.array([], kind), [])
        both = pa.concat_arrays([structs, pa.array(list(slow.values()), kind)])
        place: list[int | None] = [None] * count
        for number, row in enumerate([*rows, *slow]):
            place[row] = number
        return both.take(pa.array(place, pa.int64()))


def plain(value: Any) -> Any:
    """A message as plain data, as its column has it."""
    if isinstance(value, Event):
        kinds = shown_fields(type(value))
        return {name: _pairs(getattr(value, name)) if kind == Pairs else plain(getattr(value, name))
                for name, kind, _ in kinds}  # fmt: skip
    if isinstance(value, IntEnum):
        return value.name
    return [plain(item) for item in value] if isinstance(value, tuple) else value


def _pairs(pairs: Pairs) -> list[dict[str, str]]:
    return [{"name": name, "value": value} for name, value in pairs]


def _named(blocks: pa.Array) -> tuple[dict[str, pa.Array], pa.Array]:
    """The columns of ``NAMED``, and whether a block is one that callboard writes."""
    try:
        found = pc.extract_regex(blocks.cast(pa.string()), _BLOCK)
    except pa.ArrowInvalid:  # one that is no text
        found = pa.nulls(len(blocks), pa.struct([(name, pa.string()) for name in re.findall(r"\?P<(\w+)>", _BLOCK)]))
    regular = found.is_valid()
    columns = {}
    for name in NAMED.names:
        column = pc.struct_field(found, name)
        columns[name] = pc.if_else(pc.equal(column, ""), None, column)
    if regular.false_count:
        others = [None if known else _parsed(block) for known, block in zip(regular.to_pylist(), blocks, strict=True)]
        for name in NAMED.names:
            other = pa.array([(headers and headers.get(name)) or None for headers in others], pa.string())
            columns[name] = pc.if_else(regular, columns[name], other)
    return columns, regular


def _parsed(block: pa.Scalar) -> dict[str, str]:
    headers = unpack_headers(block.as_py() or b"")
    try:
        known = RecordHeaders.parse(headers)
    except Undecodable:
        return dict(reversed(headers))
    return {name: getattr(known, name) for name in NAMED.names}


def _part(column: pa.Array, kind: pa.DataType) -> pa.Array:
    """The column with those of its fields only that are wanted."""
    if column.type == kind:
        return column
    if pa.types.is_struct(kind) and pa.types.is_struct(column.type):
        fields = [_part(pc.struct_field(column, field.name), field.type) for field in kind]
        return pa.StructArray.from_arrays(fields, fields=list(kind), mask=column.is_null())
    return column.cast(kind)
