"""Cursors: text that says where the next page of a listing begins, checked when it is given back.

A cursor names the listing and the log that it is for, so it never leads into another one, and has a checksum.
"""

from collections.abc import Iterable
from hashlib import sha256
from typing import NamedTuple

from callboard.door.rules import shown
from callboard.errors import RequestRefused

MARK_CHARS = 8
"""Hexadecimal digits of each digest: against mix-ups and typing errors, not against forgery, which gains nothing."""


class Place(NamedTuple):
    """Where a page ended: at an ``offset``, and at a ``name`` if several items share it.

    ``first`` is where the log began then, if the pages go back; -1 if they do not.
    """

    offset: int
    name: str = ""
    first: int = -1


def cursor_at(place: Place, listing: Iterable[str], log_id: str) -> str:
    """The cursor for this place in a listing, which its words identify."""
    words = _mark(*listing), _mark(log_id), str(place.offset), place.name.encode().hex(), str(place.first)
    text = ".".join(words)
    return f"{text}.{_mark(text)}"


def place_of(cursor: str, listing: Iterable[str], log_id: str, end: int) -> Place:
    """The place of a cursor in this listing of a log that ends at ``end``.

    Raises ``RequestRefused`` for a malformed cursor, and for one of another listing or log.
    """
    text, _, check = cursor.rpartition(".")
    try:
        if check != _mark(text):
            raise ValueError
        its_listing, its_log, offset, name, first = text.split(".")
        place = Place(int(offset), bytes.fromhex(name).decode(), int(first))
    except ValueError:
        raise RequestRefused(f"{shown(cursor)} is no cursor; take it from the page before, as it is") from None
    if its_log != _mark(log_id):
        raise RequestRefused("this cursor is for another log; begin with the first page", code="mismatch")
    if its_listing != _mark(*listing):
        raise RequestRefused("this cursor is for another listing; repeat what was asked for there", code="mismatch")
    if place.offset > end:
        refusal = f"this cursor is beyond the end of the log, offset {end}; begin with the first page"
        raise RequestRefused(refusal, code="out_of_range")
    return place


def _mark(*words: str) -> str:
    return sha256("\0".join(words).encode(errors="backslashreplace")).hexdigest()[:MARK_CHARS]
