"""A record of the log, as written and as read."""

from collections.abc import Iterable
from dataclasses import dataclass

from callboard.messages.event import Event

Headers = tuple[tuple[str, str], ...]
"""Name and value pairs; names are lower case, see ``headers.py`` for those that callboard writes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewRecord(Event):
    """What a writer hands to the log.

    A record with a ``key`` is appended only if no retained record of the topic has that key; otherwise
    the append answers with the offset of the one that is there. This makes a retried append harmless.
    Not every log can do that: see ``Capability.KEYS``.
    """

    payload: bytes
    headers: Headers = ()
    key: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Record(Event):
    """What a reader gets: the offset given by the log and the time of the append by the writer's clock."""

    offset: int
    time_ns: int
    payload: bytes
    headers: Headers = ()

    def header(self, name: str) -> str:
        """The value of a header, or the empty string."""
        return next((value for key, value in self.headers if key == name), "")


_set_unknown = vars(Event)["unknown"].__set__
_set_offset, _set_time_ns, _set_payload, _set_headers = (
    vars(Record)[name].__set__ for name in ("offset", "time_ns", "payload", "headers")
)


def records_of(rows: Iterable[tuple[int, int, bytes, Headers]]) -> list[Record]:
    """Records of a log's rows: offset, time, payload, headers; made unchecked, at a quarter of the price.

    For backends only, whose drivers return nothing that can change. Catching up is mostly this.
    """
    records = list[Record]()
    for offset, time_ns, payload, headers in rows:
        record = object.__new__(Record)
        _set_unknown(record, b"")
        _set_offset(record, offset)
        _set_time_ns(record, time_ns)
        _set_payload(record, payload)
        _set_headers(record, headers)
        records.append(record)
    return records
