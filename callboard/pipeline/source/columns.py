"""The columns of a table of records: those of the record, and one for each message type with its fields."""

from collections.abc import Callable
from dataclasses import fields
from enum import IntEnum
from functools import cache
from types import UnionType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

import pyarrow as pa

from callboard.errors import ConfigError
from callboard.messages.distribution.on_topics import ON_TOPICS
from callboard.messages.distribution.package_event import PackageEvent
from callboard.messages.distribution.topic_messages import Pairs
from callboard.messages.event import Event
from callboard.messages.topics import SORTS

MESSAGES: dict[str, dict[str, type[Event]]] = {
    topic: {each.column: each.cls for each in ON_TOPICS if each.topic == topic and each.column} for topic in SORTS
} | {"event": {"event": PackageEvent}}
"""By topic, the message columns and their classes. In each row at most one of them is not null."""

NOT_SHOWN = frozenset({"unknown", "content"})
"""Fields without a column: unknown fields, and content of files. Both are in the payload."""

RAW = pa.schema(
    [
        pa.field("offset", pa.int64()),
        pa.field("time_ns", pa.int64()),
        pa.field("headers", pa.binary()),
        pa.field("payload", pa.binary()),
    ]
)
"""The columns read from a log or an archive; ``headers`` is the block that ``pack_headers`` makes."""

NAMED = pa.schema([pa.field(name, pa.string()) for name in ("type", "id", "producer", "publisher")])
"""Headers as columns, null if missing."""

F = TypeVar("F", bound=Callable[..., Any])


def kept(function: F) -> F:
    """``functools.cache`` that keeps the types: to mypy, a class of events is not hashable."""
    return cache(function)  # type: ignore[return-value]


_PAIR = pa.struct([("name", pa.string()), ("value", pa.string())])


def record_columns(topic: str, *, decode: bool, payload: bool) -> pa.Schema:
    """The columns of a topic.

    Args:
        topic: package, status, discovery, command or event.
        decode: include the message columns, and ``problem``, which says why a record could not be decoded.
        payload: include the record's own bytes.
    """
    columns = [RAW.field("offset"), RAW.field("time_ns"), *NAMED]
    if decode:
        messages = messages_of(topic)
        columns.append(pa.field("problem", pa.string()))
        columns += [pa.field(name, message_type(cls)) for name, cls in messages.items()]
    if payload or not decode:
        columns += [RAW.field("headers"), RAW.field("payload")]
    return pa.schema(columns)


def messages_of(topic: str) -> dict[str, type[Event]]:
    """The message columns of a topic. Raises ``ConfigError`` if there is no such topic."""
    if topic not in MESSAGES:
        raise ConfigError(f"topic is {topic!r}; choose among {', '.join(MESSAGES)}")
    return MESSAGES[topic]


@kept
def shown_fields(cls: type[Event]) -> tuple[tuple[str, Any, Any], ...]:
    """Name, type and default of the fields in a message's column."""
    kinds = get_type_hints(cls)
    return tuple((field.name, kinds[field.name], field.default) for field in fields(cls) if field.name not in NOT_SHOWN)


@kept
def message_type(cls: type[Event]) -> pa.DataType:
    """The struct of a message's fields: enums by name, events as structs, tuples as lists."""
    return pa.struct([(name, _type_of(kind)) for name, kind, _ in shown_fields(cls)])


def _type_of(kind: Any) -> pa.DataType:
    if kind == Pairs:
        return pa.list_(_PAIR)
    if get_origin(kind) is tuple:
        return pa.list_(_type_of(get_args(kind)[0]))
    if get_origin(kind) is UnionType:  # an event or None
        return message_type(get_args(kind)[0])
    if issubclass(kind, Event):
        return message_type(kind)
    if issubclass(kind, IntEnum):
        return pa.string()
    return {str: pa.string(), bytes: pa.binary(), bool: pa.bool_(), int: pa.int64()}[kind]
