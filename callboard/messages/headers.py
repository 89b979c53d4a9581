"""The headers of a record: what a reader needs to decide whether and how to decode it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Self, TypeVar

from callboard.errors import SchemaTooNew, Undecodable
from callboard.messages import codec, json_codec
from callboard.messages.bounds import CONTROL, ID_CHARS_MAX, bounded, digest
from callboard.messages.distribution.on_topics import ON_TOPICS
from callboard.messages.distribution.topic_messages import (
    CommandMessage,
    PackageDistributedMessage,
    PackageMessage,
    PackageStatusMessage,
)
from callboard.messages.event import Event
from callboard.messages.record import Headers, NewRecord, Record
from callboard.messages.untrusted import distrust_of

E = TypeVar("E", bound=Event)

SCHEMA_VERSION = (1, 4)
"""The version that this process writes. It reads every minor version of this major one.

Apache Sling's journal of 2019, the original, wrote version 1 too.
"""

HEADER_CHARS_MAX = 4 * ID_CHARS_MAX
"""Length of a header or key: they are composed of a few names and ids."""

VERSION = re.compile(r"([0-9]{1,9})(?:\.([0-9]{1,9}))?")
"""The original wrote only the major number."""

TIME_NS = re.compile("[0-9]{1,19}")

ORIGINAL_TYPES = {each.original: each.cls.__name__ for each in ON_TOPICS if each.original}
"""The original wrote the type as a number."""

TIME_NS_MAX = 2**63 - 1
"""The largest time that messages and databases can hold, in the year 2262."""

LENGTH_MAX = 1 << 43
"""The size that a package may claim, in bytes: 8.8 TB, so that the claims of a million still add up to 63 bits."""

ENTRIES_MAX = (1 << 32) - 1
"""The entries that a package may claim: the package format counts them in 32 bits."""

PATH_CHARS_MAX = 4096
"""The kernel's limit for one path. The parent folders of a longer one could fill the memory."""

SEPARATOR = "/"
"""Between the name of a relay and that of a subscriber of its site."""

RECIPIENTS_BYTES_MAX = 16 << 10
"""A longer list of recipients is only in the message, so that headers stay small."""

_USUAL = re.compile(
    rb"type\x00([A-Za-z]+)\x00version\x00%d\.[0-9]{1,9}\x00(?:id\x00[^\x00]*\x00)?time_ns\x00[1-8]?[0-9]{1,18}(?:\x00|\Z)"
    % SCHEMA_VERSION[0]
)
"""How nearly all packed headers begin. The type and the validity of the rest are then known without unpacking them,
because the first of each name counts.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordHeaders:
    """The headers that callboard writes. Each has its field's name; empty ones are left out.

    ``type`` is the message's name, ``id`` is unique to the record and ``cause`` is the id of the record or
    request that led to it. ``time_ns`` is by the producer's clock, since the epoch. ``traceparent`` is as
    the W3C defines it. ``publisher``, ``kind`` (the name of a package's ``Kind`` or a status's ``Status``) and
    ``recipients`` (see ``addressed``) let a reader skip irrelevant records without decoding them. ``relay`` and
    ``path`` are those of a relayed package, see ``relayed.py``.
    """

    type: str
    version: tuple[int, int] = SCHEMA_VERSION
    id: str = ""
    time_ns: int = 0
    cause: str = ""
    traceparent: str = ""
    producer: str = ""
    publisher: str = ""
    kind: str = ""
    recipients: str = ""
    relay: str = ""
    path: str = ""

    def to_pairs(self) -> Headers:
        """The headers as name and value pairs, without invalid values; an invalid ``id`` is replaced by its digest."""
        major, minor = self.version
        texts = {"version": f"{major}.{minor}", "time_ns": str(self.time_ns or ""), "id": _key(self.id)}
        named = [(name, texts.get(name) or getattr(self, name)) for name in _NAMES]
        return tuple((name, value) for name, value in named if value and _fits(name, value))

    @classmethod
    def parse(cls, headers: Headers) -> Self:
        """Parse the headers of a record, including the original's; unknown ones are ignored.

        Raises ``Undecodable`` for a missing type, or an invalid version or time.
        """
        texts = told_in(headers)
        kind, version, time_ns = _essence(texts)
        return cls(
            type=kind,
            version=version,
            time_ns=time_ns,
            id=texts.get("id", ""),
            cause=texts.get("cause", ""),
            traceparent=texts.get("traceparent", ""),
            producer=texts.get("producer", ""),
            publisher=texts.get("publisher", ""),
            kind=texts.get("kind", ""),
            recipients=texts.get("recipients", ""),
            relay=texts.get("relay", ""),
            path=texts.get("path", ""),
        )


SHARED_BYTES_MAX = 32 << 10
"""Packages with up to this many bytes, the newest 64, are decoded once for all subscribers of a process."""

_NAMES = dict.fromkeys(field.name for field in fields(RecordHeaders))


def told_in(headers: Headers) -> dict[str, str]:
    """The valid headers of a record, by name: the first of each name, and only values that callboard itself could
    write, so that no others spread.
    """
    return {name: value for name, value in reversed(headers) if name in _NAMES and _fits(name, value)}


def _fits(name: str, value: str) -> bool:
    """Whether callboard could write this value: every log can hold it, and it is short."""
    if name == "recipients":
        return len(value) <= RECIPIENTS_BYTES_MAX and (not CONTROL.search(value.replace("\n", "")))
    return len(value) <= HEADER_CHARS_MAX and (value.isprintable() or not CONTROL.search(value))


def _key(text: str) -> str:
    """A valid key or id for the text: the text itself, or its digest."""
    return text if _fits("id", text) else digest(text)


def as_record(payload: bytes, headers: RecordHeaders, key: str = "") -> NewRecord:
    """A record that every log accepts, even if invalid text was copied into its headers or key."""
    return NewRecord(payload=payload, headers=headers.to_pairs(), key=_key(key))


def _essence(texts: Mapping[str, str]) -> tuple[str, tuple[int, int], int]:
    """The type, the version and the time of a record with these headers. Raises as ``RecordHeaders.parse``."""
    kind = texts.get("type")
    if not kind:
        raise Undecodable("the record has no header 'type'; find out who writes to this topic")
    version = _version(texts.get("version", ""))
    time_ns = texts.get("time_ns", "0")
    if not TIME_NS.fullmatch(time_ns) or int(time_ns) > TIME_NS_MAX:
        raise Undecodable(f"the header 'time_ns' is {time_ns!r:.80}, not nanoseconds since the epoch")
    return ORIGINAL_TYPES.get(kind, kind), version, int(time_ns)


@lru_cache(maxsize=16)  # a log has records of few versions
def _version(text: str) -> tuple[int, int]:
    version = VERSION.fullmatch(text)
    if not version:
        raise Undecodable(f"the header 'version' is {text or None!r:.80}, not like '1.0'")
    return int(version[1]), int(version[2] or 0)


def new_record(
    event: Event,
    *,
    record_id: str,
    time_ns: int,
    producer: str,
    key: str = "",
    cause: str = "",
    traceparent: str = "",
    publisher: str = "",
) -> NewRecord:
    """The event as a record for the log.

    ``time_ns`` is nanoseconds since the epoch; see ``NewRecord`` for ``key`` and ``RecordHeaders`` for the
    rest. A package supplies its publisher, kind and recipients, a command its subscriber as the recipient,
    a status its kind.
    """
    kind = recipients = ""
    if isinstance(event, PackageMessage):
        publisher, kind, recipients = event.publisher, event.kind.name, _address(event.recipients)
    elif isinstance(event, PackageStatusMessage):
        kind = event.status.name
    elif isinstance(event, CommandMessage):
        recipients = _address((event.subscriber,))
    headers = RecordHeaders(
        type=type(event).__name__,
        id=record_id,
        time_ns=time_ns,
        cause=cause,
        traceparent=traceparent,
        producer=producer,
        publisher=publisher,
        kind=kind,
        recipients=recipients,
    )
    return as_record(_encode(event), headers, key)


def open_record(record: Record, expected: type[E] | tuple[type[E], ...], headers: Mapping[str, str] | None = None) -> E:
    """The event in the record, which must be of an expected class. ``headers`` are its ``told_in``, if known already.

    Raises ``SchemaTooNew`` when it was written by a newer major version, and ``Undecodable`` when its type is
    missing or unexpected, or when it is damaged or out of bounds (see ``bounded``); both say which record.
    """
    classes = expected if isinstance(expected, tuple) else (expected,)
    where = f"the record at offset {record.offset}"
    if reason := distrust_of(record):
        raise Undecodable(f"{where} does not count: {reason}")
    try:
        usual = _USUAL.match(record.header_block)
        kind = usual[1].decode() if usual else _kind(told_in(record.headers) if headers is None else headers, where)
        for cls in classes:
            if cls.__name__ == kind:
                return _decode(cls, record.payload)
        names = " or ".join(cls.__name__ for cls in classes)
        raise Undecodable(f"it is a {kind!r:.80}, where only {names} is expected")
    except Undecodable as error:
        raise Undecodable(f"{where} cannot be decoded: {error}") from error


def usual_type(record: Record) -> bytes | None:
    """The type of a record of this major version, if that is known without a look at all of its headers."""
    usual = _USUAL.match(record.header_block)
    return usual[1] if usual else None


def _kind(headers: Mapping[str, str], where: str) -> str:
    """The type. Raises as ``open_record``."""
    kind, (major, _), _ = _essence(headers)
    if major > SCHEMA_VERSION[0]:
        raise SchemaTooNew(
            f"{where} has schema version {major}, and this process knows up to {SCHEMA_VERSION[0]}; upgrade it"
        )
    return kind


def addressed(recipients: str, subscriber: str) -> bool:
    """Whether, by this header, the record may be for the subscriber, or for its site; the message decides."""
    return not recipients or f"\n{subscriber}\n" in (lines := f"\n{recipients}\n") or f"\n{subscriber}/" in lines


def may_be_by(record: Record, subscriber: str) -> bool:
    """Whether, by its headers, the record may come from the subscriber itself; the message decides."""
    return record.header("producer").rpartition("/")[0] in ("", subscriber)


def _address(recipients: tuple[str, ...]) -> str:
    """The header for these recipients: one per line, or empty if that would be too long or ambiguous."""
    header = "\n".join(recipients)
    unfit = len(header.encode()) > RECIPIENTS_BYTES_MAX or "\0" in header or header.count("\n") != len(recipients) - 1
    return "" if unfit else header


def _encode(event: Event) -> bytes:
    if isinstance(event, PackageDistributedMessage):
        return json_codec.encode_json(event)
    return codec.encode(event)


def _decode(cls: type[E], payload: bytes) -> E:
    if issubclass(cls, PackageDistributedMessage):
        return json_codec.decode_json(payload)  # type: ignore[return-value]
    if cls is PackageMessage:
        return (_shared_package if len(payload) <= SHARED_BYTES_MAX else _package)(payload)  # type: ignore[return-value]
    return bounded(codec.decode(cls, payload))


def _package(payload: bytes) -> PackageMessage:
    """The package. Rejects impossible sizes: their sums would be reported as lag, and not fit where they are kept."""
    package = bounded(codec.decode(PackageMessage, payload))
    claims = (
        ("length", package.length, LENGTH_MAX),
        ("total_bytes", package.total_bytes, LENGTH_MAX),
        ("entries", package.entries, ENTRIES_MAX),
    )
    for name, claimed, most in claims:
        if not 0 <= claimed <= most:
            raise Undecodable(f"it claims the {name} {claimed}, and the range is 0 to {most}")
    for path in (*package.paths, *package.deep_paths):
        if path[:1] != "/" or len(path) > PATH_CHARS_MAX:
            raise Undecodable(f"{path!r:.80} is not a path: it is not absolute, or longer than {PATH_CHARS_MAX}")
    return package


_shared_package = lru_cache(maxsize=64)(_package)
