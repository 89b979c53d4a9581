"""The placeholder that a reader gets for a record whose signature is missing or wrong.

It has the offset, time and payload of the record, and a type that no message has: a reader sees no gap, and ignores it.
"""

from callboard.messages.event import replaced
from callboard.messages.record import Record, pack_headers

UNTRUSTED = "Untrusted"
"""The type of a placeholder."""

_BEGINNING = pack_headers((("type", UNTRUSTED), ("was", "")))
"""The start of its header block, which identifies it without unpacking."""


def untrusted(record: Record, reason: str) -> Record:
    """The placeholder for a record that is not trusted, for this reason."""
    was = record.header("type")
    return replaced(record, header_block=pack_headers((("type", UNTRUSTED), ("was", was), ("reason", reason))))


def distrust_of(record: Record) -> str:
    """Why the record is not trusted; empty if it is."""
    return (record.header("reason") or "it is not trusted") if record.header_block.startswith(_BEGINNING) else ""
