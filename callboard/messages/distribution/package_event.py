"""Events about packages: the topic ``event``, as JSON, for any consumer.

An event has the property names of the original's PackageDistributedMessage, which is the record's type for the kind
``distributed``; all other properties extend it. An event may be written more than once: deduplicate by ``dedupKey``.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import accumulate, takewhile
from typing import Any

from callboard.errors import SchemaTooNew, Undecodable
from callboard.messages.bounds import is_id
from callboard.messages.event import Event
from callboard.messages.headers import SCHEMA_VERSION, RecordHeaders, as_record
from callboard.messages.json_codec import decode_json, json_object
from callboard.messages.record import NewRecord, Record

KINDS = ("created", "queued", "distributed", "imported", "failed")
"""``created``: the publisher has built the package. ``queued``: the log has it, and with it every queue.
``distributed``: every subscriber that counts has processed it. ``imported`` and ``failed``: at one subscriber."""

EVENTS = ("distributed", "failed")
"""The default kinds: one record per package, however many subscribers there are, and one per failure at a subscriber.
``imported`` would be one for every package and editable subscriber."""

DISTRIBUTED = "PackageDistributedMessage"
OTHER = "PackageEvent"
MARKS = "EventMarks"
TYPES = (DISTRIBUTED, OTHER, MARKS)
"""The types of the records on the topic ``event``."""

PATHS_MAX = 20_000
"""Characters of ``paths`` in an event, likewise of ``deep_paths``, with four more for each path; further paths are only
counted. So an event always fits a record, and a thousand of them fit into memory."""
PATH_OVERHEAD = 4
"""JSON's characters around a text in a list. They count so that the number of empty paths is bounded too."""

MARKS_MAX = 100
"""Marks in one record; this version writes five at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PackageEvent(Event):
    """Something that happened to the package at ``offset`` of the log ``log_id``, at ``time_ns``.

    ``request`` is the name of the package's ``Kind``. ``subscriber`` and the fields after it are set for ``imported``
    and ``failed``; ``outcome`` is the name of the ``Status``. ``more_paths`` counts the paths left out.
    """

    kind: str
    publisher: str
    package_id: str
    offset: int
    dedup_key: str
    log_id: str = ""
    time_ns: int = 0
    paths: tuple[str, ...] = ()
    deep_paths: tuple[str, ...] = ()
    more_paths: int = 0
    request: str = ""
    user: str = ""
    length: int = 0
    subscriber: str = ""
    subscriber_instance: str = ""
    outcome: str = ""
    reason: str = ""
    attempts: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark(Event):
    """Everything of this kind below ``offset`` of the topic incarnation ``log_id`` is on the event topic."""

    kind: str
    log_id: str
    offset: int


@dataclass(frozen=True, slots=True, kw_only=True)
class EventMarks(Event):
    """How far a notifier of this publisher has come, and where its successor continues."""

    publisher: str
    marks: tuple[Mark, ...]


_NAMES = (
    ("kind", "type"),
    ("publisher", "pubAgentName"),
    ("package_id", "packageId"),
    ("deep_paths", "deepPaths"),
    ("paths", "paths"),
    ("offset", "offset"),
    ("dedup_key", "dedupKey"),
    ("log_id", "logId"),
    ("time_ns", "timeNs"),
    ("more_paths", "morePaths"),
    ("request", "reqType"),
    ("user", "userId"),
    ("length", "length"),
    ("subscriber", "subAgentName"),
    ("subscriber_instance", "subInstance"),
    ("outcome", "outcome"),
    ("reason", "reason"),
    ("attempts", "attempts"),
)
"""Field and property. The first seven are always written, the others unless they are empty."""
ALWAYS = 7


def event_record(event: PackageEvent | EventMarks, time_ns: int, producer: str) -> NewRecord:
    """The record for the event topic, keyed so that a log with keys stores an event once."""
    key = ""
    if isinstance(event, EventMarks):
        marks = {mark.kind: {"logId": mark.log_id, "offset": mark.offset} for mark in event.marks}
        name, properties = MARKS, {"type": "marks", "pubAgentName": event.publisher, "marks": marks}
    else:
        name, key = DISTRIBUTED if event.kind == "distributed" else OTHER, event.dedup_key
        properties = event_properties(event)
    headers = RecordHeaders(type=name, id=key, time_ns=time_ns, producer=producer, publisher=event.publisher)
    return as_record(json.dumps(properties, ensure_ascii=False).encode(), headers, key)


def event_properties(event: PackageEvent) -> dict[str, Any]:
    """The event's JSON object, as on the log."""
    values = [(name, getattr(event, field)) for field, name in _NAMES]
    return {name: value for number, (name, value) in enumerate(values) if value or number < ALWAYS}


def open_event(record: Record) -> PackageEvent | EventMarks:
    """The event in a record of the event topic; also reads the original's records.

    Raises ``Undecodable`` and ``SchemaTooNew`` like ``open_record``.
    """
    where = f"the record at offset {record.offset}"
    try:
        headers = RecordHeaders.parse(record.headers)
        if headers.version[0] > SCHEMA_VERSION[0]:
            raise SchemaTooNew(f"{where} is of schema version {headers.version[0]}; upgrade this process")
        if headers.type not in TYPES:
            raise Undecodable(f"it is a {headers.type!r:.80}, where only {', '.join(TYPES)} are expected")
        return _marks(record.payload) if headers.type == MARKS else _event(record)
    except Undecodable as error:
        raise Undecodable(f"{where} cannot be decoded: {error}") from error


def shown_paths(paths: Iterable[str]) -> tuple[str, ...]:
    """As many of the paths as fit into an event."""
    paths = tuple(paths)
    sizes = accumulate(len(path) + PATH_OVERHEAD for path in paths)
    return paths[: sum(1 for _ in takewhile(lambda size: size <= PATHS_MAX, sizes))]


def _event(record: Record) -> PackageEvent:
    base = decode_json(record.payload)  # checks the original's properties
    properties = json_object(record.payload, record.header("type"))
    known: dict[str, Any] = {}
    for field, name in _NAMES:
        value = properties.get(name)
        if type(value) is type(_DEFAULTS.get(field, "")):
            known[field] = value
    known |= {"kind": known.get("kind") or "distributed", "dedup_key": known.get("dedup_key") or ""}
    known |= {"publisher": base.publisher, "package_id": base.package_id, "offset": base.offset}
    known |= {"paths": base.paths, "deep_paths": base.deep_paths, "time_ns": known.get("time_ns") or record.time_ns}
    return PackageEvent(**known)


_DEFAULTS: dict[str, Any] = dict.fromkeys(("offset", "time_ns", "more_paths", "length", "attempts"), 0)


def _marks(payload: bytes) -> EventMarks:
    properties = json_object(payload, MARKS)
    try:
        publisher = properties["pubAgentName"]
        found = [(kind, mark["logId"], mark["offset"]) for kind, mark in properties["marks"].items()]
    except (TypeError, KeyError, AttributeError) as error:
        raise Undecodable(f"{len(payload)} bytes are not {MARKS}: {error!r}") from error
    if type(publisher) is not str or any(type(log_id) is not str or type(at) is not int for _, log_id, at in found):
        raise Undecodable(f"{len(payload)} bytes are not {MARKS}: a name is not text, or an offset not an integer")
    names = [publisher, *(name for kind, log_id, _ in found for name in (kind, log_id))]
    if len(found) > MARKS_MAX or not all(map(is_id, names)):
        raise Undecodable(f"{len(payload)} bytes are not {MARKS}: there are too many, or a name is invalid")
    marks = tuple(Mark(kind=kind, log_id=log_id, offset=offset) for kind, log_id, offset in found)
    return EventMarks(publisher=publisher, marks=marks)
