"""The header ``traceparent``, as the W3C defines it: the span that led to a record."""

import re
from typing import NamedTuple

_FORMAT = re.compile("(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})")


class Traceparent(NamedTuple):
    """A span of any process: hexadecimal ids, and the flags, of which the lowest bit says that it is sampled."""

    trace_id: str
    span_id: str
    flags: int

    def __str__(self) -> str:
        """The header."""
        return f"00-{self.trace_id}-{self.span_id}-{self.flags:02x}"


def parsed(header: str) -> Traceparent | None:
    """The span; None for anything that is no valid header, as anybody may have written it."""
    found = _FORMAT.fullmatch(header)
    return Traceparent(found[1], found[2], int(found[3], 16)) if found else None


def trace_of(header: str) -> dict[str, str]:
    """The trace as a field of a log line; nothing if there is none."""
    return {"trace_id": its.trace_id} if (its := parsed(header)) else {}
