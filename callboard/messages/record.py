"""A record of the log, as written and as read."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain

from callboard.messages.event import Event

Headers = tuple[tuple[str, str], ...]
"""Name and value pairs; names are lower case, see ``headers.py`` for those that callboard writes."""

HEADERS_MAX = 1000
"""Headers read of one record: a hundred times what callboard writes. A record has room for a million, and each reader
unpacks them several times."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewRecord(Event):
    """A record to append to the log.

    A record with a ``key`` is appended only if no retained record of the topic has that key; otherwise
    the append returns the offset of the existing one. This makes a retried append harmless.
    Not every log supports keys: see ``Capability.KEYS``.
    """

    payload: bytes
    headers: Headers = ()
    key: str = ""

    @property
    def nbytes(self) -> int:
        """The bytes sent to the log."""
        return len(self.payload) + len(pack_headers(self.headers)) + len(self.key.encode())

    def at(self, offset: int, time_ns: int) -> "Record":
        """The record as read back from this offset, appended at that time."""
        block = pack_headers(self.headers)
        return Record(offset=offset, time_ns=time_ns, payload=self.payload, header_block=block)


@dataclass(frozen=True, slots=True, kw_only=True)
class Record(Event):
    """A record as read: with the offset given by the log and the time of the append by the writer's clock.

    ``header_block`` is the output of ``pack_headers``. It is unpacked only on demand: unpacking six headers costs more
    than fetching their record.
    """

    offset: int
    time_ns: int
    payload: bytes
    header_block: bytes = b""

    @property
    def headers(self) -> Headers:
        """The headers, unpacked."""
        return unpack_headers(self.header_block)

    def header(self, name: str) -> str:
        """The value of a header, or the empty string."""
        if name.encode() not in self.header_block:  # the usual case, and much faster than unpacking
            return ""
        return next((value for key, value in _pairs(self.header_block) if key == name), "")


def pack_headers(headers: Headers) -> bytes:
    """Names and values in turn, UTF-8, with a NUL after each but the last; empty for no headers.

    Raises ``ValueError`` for a NUL in a name or value.
    """
    if not headers:
        return b""
    flat = "\0".join(chain.from_iterable(headers))
    if flat.count("\0") != 2 * len(headers) - 1:
        raise ValueError("a record header has a NUL character; encode such a value, for example as base64")
    return flat.encode()


def unpack_headers(block: bytes) -> Headers:
    """The packed headers, ``HEADERS_MAX`` at most; of a damaged block, the readable ones. Never raises."""
    return tuple(_pairs(block))


def _pairs(block: bytes) -> Iterator[tuple[str, str]]:
    flat = iter(block.decode(errors="replace").split("\0", 2 * HEADERS_MAX))
    return zip(flat, flat)  # noqa: B905 - an odd one out is damage, or the excess


_set_unknown = vars(Event)["unknown"].__set__
_set_offset, _set_time_ns, _set_payload, _set_header_block = (
    vars(Record)[name].__set__ for name in ("offset", "time_ns", "payload", "header_block")
)


def records_of(rows: Iterable[tuple[int, int, bytes, bytes]]) -> list[Record]:
    """Records from a log's rows (offset, time, payload, header block), unchecked, at a quarter of the cost.

    For backends only, whose drivers return immutable values. Catching up spends most of its time here.
    """
    records = list[Record]()
    for offset, time_ns, payload, header_block in rows:
        record = object.__new__(Record)
        _set_unknown(record, b"")
        _set_offset(record, offset)
        _set_time_ns(record, time_ns)
        _set_payload(record, payload)
        _set_header_block(record, header_block)
        records.append(record)
    return records
