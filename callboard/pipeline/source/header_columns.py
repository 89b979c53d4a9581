"""Turns whole columns of header blocks into columns of headers.

Only blocks in the form that callboard writes, with a version that this process knows, are handled as columns; others
are unpacked one by one. Capturing a block's values costs four times as much as matching its form.
"""

import re

import pyarrow as pa
import pyarrow.compute as pc

from callboard.errors import Undecodable
from callboard.messages.headers import RecordHeaders
from callboard.messages.record import unpack_headers
from callboard.pipeline.source.columns import NAMED

_BLOCK = (
    r"^type\x00(?P<type>[A-Za-z][^\x00]*)\x00version\x001(?:\.[0-9]{1,9})?(?:\x00id\x00(?P<id>[^\x00]*))?"
    r"(?:\x00time_ns\x00[0-9]{1,19})?(?:\x00cause\x00[^\x00]*)?(?:\x00traceparent\x00[^\x00]*)?"
    r"(?:\x00producer\x00(?P<producer>[^\x00]*))?(?:\x00publisher\x00(?P<publisher>[^\x00]*))?"
    r"(?:\x00kind\x00[^\x00]*)?(?:\x00recipients\x00[^\x00]*)?(?:\x00signature\x00[^\x00]*)?$"
)
"""A block of headers in the form that callboard writes."""

_UNCAPTURED = re.sub(r"\(\?P<\w+>", "(?:", _BLOCK)


def texts_of(blocks: pa.Array) -> pa.Array:
    """The blocks as text; all null if any is not text."""
    try:
        return blocks.cast(pa.string())
    except pa.ArrowInvalid:
        return pa.nulls(len(blocks), pa.string())


def regular(texts: pa.Array) -> pa.Array:
    """Which blocks have the form that callboard writes."""
    return pc.match_substring_regex(texts, _UNCAPTURED).fill_null(False)


def typed(texts: pa.Array, name: str) -> pa.Array:
    """Which of those belong to records of this type."""
    return pc.starts_with(texts, f"type\0{name}\0").fill_null(False)


def named(blocks: pa.Array) -> dict[str, pa.Array]:
    """The columns of ``NAMED``."""
    found = pc.extract_regex(texts_of(blocks), _BLOCK)
    known = found.is_valid()
    columns = {}
    for name in NAMED.names:
        column = pc.struct_field(found, name)
        columns[name] = pc.if_else(pc.equal(column, ""), None, column)
    if known.false_count:
        others = [None if each else _parsed(block) for each, block in zip(known.to_pylist(), blocks, strict=True)]
        for name in NAMED.names:
            other = pa.array([(headers and headers.get(name)) or None for headers in others], pa.string())
            columns[name] = pc.if_else(known, columns[name], other)
    return columns


def _parsed(block: pa.Scalar) -> dict[str, str]:
    headers = unpack_headers(block.as_py() or b"")
    try:
        found = RecordHeaders.parse(headers)
    except Undecodable:
        return dict(reversed(headers))
    return {name: getattr(found, name) for name in NAMED.names}
