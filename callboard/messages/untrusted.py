"""A record that does not count, because its signature is missing or wrong: what a reader gets in its place.

It has the place, the time and the payload of the record, and a type that no message has: who reads on finds it without
a gap, and takes it for nothing.
"""

from callboard.messages.event import replaced
from callboard.messages.record import Record, pack_headers

UNTRUSTED = "Untrusted"
"""The type of such a record."""

_BEGINNING = pack_headers((("type", UNTRUSTED), ("was", "")))
"""Of its headers, by which it is told without unpacking them."""


def untrusted(record: Record, reason: str) -> Record:
    """What stands in for the record, which does not count for this reason."""
    was = record.header("type")
    return replaced(record, header_block=pack_headers((("type", UNTRUSTED), ("was", was), ("reason", reason))))


def distrust_of(record: Record) -> str:
    """Why the record does not count; empty if it does."""
    return (record.header("reason") or "it is not trusted") if record.header_block.startswith(_BEGINNING) else ""
