"""Declared events as records of the log."""

import re

from callboard.errors import SchemaTooNew, Undecodable
from callboard.messages.codec import decode, encode
from callboard.messages.declared.registry import declaration_of, versions_of
from callboard.messages.declared.upcasting import newest
from callboard.messages.event import Event
from callboard.messages.headers import RecordHeaders, as_record
from callboard.messages.record import NewRecord, Record
from callboard.messages.untrusted import distrust_of

_USUAL = re.compile(
    rb"type\x00([a-z0-9_.]{3,100})\x00version\x00([0-9]{1,9})\.0\x00"
    rb"(?:id\x00[^\x00]*\x00)?time_ns\x00[1-8]?[0-9]{1,18}(?:\x00|\Z)"
)
"""How nearly all packed headers of declared events begin, see the same in ``headers.py``."""


def record_of(
    event: Event,
    *,
    record_id: str,
    time_ns: int,
    producer: str,
    key: str = "",
    cause: str = "",
    traceparent: str = "",
) -> NewRecord:
    """A declared event as a record for the log, of the version of its class.

    Args:
        event: The event.
        record_id: Unique to the record.
        time_ns: The producer's time, in nanoseconds since the epoch.
        producer: Who writes it.
        key: A second record with this key is not appended, see ``NewRecord``.
        cause: The id of the record or request that led to it.
        traceparent: The trace that it belongs to, as the W3C defines it.

    Raises:
        TypeError: The class is not declared, or a field has a value of another type.
        ValueError: A field has a value that cannot be written: an integer of more bits, or text that is not UTF-8.
    """
    its = declaration_of(type(event))
    if its is None:
        raise TypeError(f"{type(event).__name__} is not declared; write @event('some.name', version=1) above its class")
    headers = RecordHeaders(
        type=its.name, version=(its.version, 0), id=record_id, time_ns=time_ns, cause=cause, traceparent=traceparent,
        producer=producer,
    )  # fmt: skip
    return as_record(_written(event), headers, key)


def _written(event: Event) -> bytes:
    try:
        return encode(event)
    except (AttributeError, TypeError, ValueError) as error:
        kind = ValueError if isinstance(error, ValueError) else TypeError
        raise kind(f"{type(event).__name__} cannot be written: {_misfit(event) or error}; correct it") from error


def _misfit(event: Event) -> str:
    """The first field with a value that it cannot hold, and why."""
    its = declaration_of(type(event))
    if its is None:
        return f"{type(event).__name__} is not declared"
    for name in its.message.DESCRIPTOR.fields_by_name:
        value = getattr(event, name)
        if nested := [each for each in (value if isinstance(value, tuple) else (value,)) if isinstance(each, Event)]:
            if found := next(filter(None, map(_misfit, nested)), ""):
                return found
            continue
        try:
            its.message(**{name: value})
        except (TypeError, ValueError) as error:
            return f"{type(event).__name__}.{name} is {value!r:.80}, but {error}"
    return ""


def event_of(record: Record) -> Event:
    """The declared event in a record, in the newest version that this process declares.

    Raises ``SchemaTooNew`` when it was written in a newer one, and ``Undecodable`` when its name or version is not
    declared, it is damaged, or an ``upcast`` fails. Both say which record; a reader that may skip nothing stops there.
    """
    where = f"the record at offset {record.offset}"
    if reason := distrust_of(record):
        raise Undecodable(f"{where} does not count: {reason}")
    try:
        usual = _USUAL.match(record.header_block)
        if usual:
            name, version = usual[1].decode(), int(usual[2])
        else:
            headers = RecordHeaders.parse(record.headers)
            name, version = headers.type, headers.version[0]
        its = versions_of(name).get(version)
        if its is None:
            raise _unknown(name, version)
        return newest(decode(its.cls, record.payload))
    except SchemaTooNew as error:
        raise SchemaTooNew(f"{where} cannot be decoded: {error}") from error
    except Undecodable as error:
        raise Undecodable(f"{where} cannot be decoded: {error}") from error


def _unknown(name: str, version: int) -> SchemaTooNew | Undecodable:
    known = versions_of(name)
    if not known:
        return Undecodable(f"no event {name!r:.120} is declared; import the module that declares it, or upgrade")
    latest = next(reversed(known))
    if version > latest:
        return SchemaTooNew(f"it has version {version} of {name!r}, and this process knows up to {latest}; upgrade it")
    what = f"version {version} of {name!r} is not declared, only {', '.join(map(str, known))}"
    return Undecodable(f"{what}; declare it again, with an upcast()")
