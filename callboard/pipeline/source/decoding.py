"""Decodes batches of records into the columns of a topic. Undecodable records stay, with their problem."""

from collections.abc import Mapping
from enum import IntEnum
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from callboard.errors import SchemaTooNew, Undecodable
from callboard.messages.distribution.package_event import EventMarks, open_event
from callboard.messages.distribution.topic_messages import Pairs
from callboard.messages.event import Event
from callboard.messages.headers import open_record
from callboard.messages.record import Record
from callboard.pipeline.source.columns import NAMED, message_type, messages_of, shown_fields
from callboard.pipeline.source.header_columns import named, regular, texts_of, typed

try:
    from callboard.pipeline.source.fast_decoding import fast_structs
except ModuleNotFoundError:  # ptars does not support every platform; the codec is about six times slower
    fast_structs = None  # type: ignore[assignment]

Rows: TypeAlias = np.ndarray[Any, np.dtype[np.uint64]]


def decoded(raw: pa.RecordBatch, topic: str, columns: pa.Schema, *, fast: bool = True) -> pa.RecordBatch:
    """The records as rows with these columns, a subset of ``record_columns``, also within a message.

    Args:
        raw: with the needed columns of ``RAW``.
        topic: package, status, discovery, command or event.
        columns: the wanted columns.
        fast: use ptars if it is installed; the result is the same.
    """
    found: dict[str, pa.Array] = {name: raw.column(name) for name in raw.schema.names}
    messages = {name: cls for name, cls in messages_of(topic).items() if name in columns.names}
    if messages or "problem" in columns.names:
        found |= _Decoder(raw, topic, fast=fast).columns()
    if set(NAMED.names).intersection(columns.names):
        found |= named(found["headers"])
    return pa.RecordBatch.from_arrays([_part(found[field.name], field.type) for field in columns], schema=columns)


class _Decoder:
    """Decodes one batch: whole columns at a time where possible, the rest record by record."""

    def __init__(self, raw: pa.RecordBatch, topic: str, *, fast: bool) -> None:
        self._raw, self._messages = raw, messages_of(topic)
        self._fast = fast and fast_structs is not None and topic != "event"

    def columns(self) -> dict[str, pa.Array]:
        """The message columns, and ``problem``."""
        count, parts = self._raw.num_rows, self._parts() if self._fast else {}
        left = np.ones(count, bool)
        for _, rows in parts.values():
            left[rows] = False
        slow: dict[str, dict[int, Any]] = {name: {} for name in self._messages}
        problems: dict[int, str] = {}
        for row in np.flatnonzero(left).tolist():
            self._decode(row, slow, problems)
        columns = {name: self._column(name, parts.get(name), slow[name]) for name in self._messages}
        return columns | {"problem": _spread(pa.array(problems.values(), pa.string()), [*problems], count)}

    def _parts(self) -> dict[str, tuple[pa.Array, Rows]]:
        """The messages decoded as columns: for each class its structs, and the rows that they belong to."""
        texts, parts = texts_of(self._raw.column("headers")), {}
        ours = regular(texts)
        for name, cls in self._messages.items():
            rows = pc.indices_nonzero(pc.and_(ours, typed(texts, cls.__name__))).to_numpy()
            if len(rows) and (made := fast_structs(cls, _taken(self._raw.column("payload"), rows))) is not None:
                structs, good = made
                certain = pc.indices_nonzero(good).to_numpy()
                parts[name] = (_taken(structs, certain), rows[certain])
        return parts

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

    def _column(self, name: str, part: tuple[pa.Array, Rows] | None, slow: Mapping[int, Any]) -> pa.Array:
        kind = message_type(self._messages[name])
        values, rows = part or (pa.array([], kind), np.array([], np.uint64))
        if slow:
            values = pa.concat_arrays([values, pa.array(slow.values(), kind)])
            rows = np.append(rows, np.array([*slow], np.uint64))
        return _spread(values, rows, self._raw.num_rows)


def _taken(values: pa.Array, rows: Rows) -> pa.Array:
    """The values of these rows, in order; without a copy if these are all rows."""
    return values if len(rows) == len(values) else values.take(pa.array(rows))


def _spread(values: pa.Array, rows: Rows | list[int], count: int) -> pa.Array:
    """An array of ``count`` values: these at the given rows, each once and in any order, and null elsewhere."""
    if len(values) == 0:
        return pa.nulls(count, values.type)
    place = np.full(count, -1)
    place[rows] = np.arange(len(values))
    if np.array_equal(place, np.arange(count)):
        return values
    return values.take(pa.array(place, mask=place < 0))


def plain(value: Any) -> Any:
    """A message as plain data, as in its column."""
    if isinstance(value, Event):
        kinds = shown_fields(type(value))
        return {name: _pairs(getattr(value, name)) if kind == Pairs else plain(getattr(value, name))
                for name, kind, _ in kinds}  # fmt: skip
    if isinstance(value, IntEnum):
        return value.name
    return [plain(item) for item in value] if isinstance(value, tuple) else value


def _pairs(pairs: Pairs) -> list[dict[str, str]]:
    return [{"name": name, "value": value} for name, value in pairs]


def _part(column: pa.Array, kind: pa.DataType) -> pa.Array:
    """The column with only the wanted fields."""
    if column.type == kind:
        return column
    if pa.types.is_struct(kind) and pa.types.is_struct(column.type):
        fields = [_part(pc.struct_field(column, field.name), field.type) for field in kind]
        return pa.StructArray.from_arrays(fields, fields=list(kind), mask=column.is_null())
    return column.cast(kind)
