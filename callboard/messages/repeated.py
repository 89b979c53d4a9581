"""Repeats a record at the end of its topic, so that everything before it can be removed.

The repetition has the payload and headers of the original, including its id, and one more header: the offset and append
time of the original, and how far the repeating process had read the topic. To a fold over the topic it is old news,
which counts only where nothing newer is known. Older versions take it for a new record.
"""

import re
from dataclasses import dataclass

from callboard.messages.headers import TIME_NS_MAX
from callboard.messages.record import NewRecord, Record

HEADER = "repeats"
NUMBERS = re.compile(r"([0-9]{1,19}) (-?[0-9]{1,19}) ([0-9]{1,19})")


@dataclass(frozen=True, slots=True)
class Original:
    """Where and when a repeated record was first appended. ``read_to`` is how far the topic was known when it was
    repeated: records from there up to the repetition are newer, although they come before it.
    """

    offset: int
    time_ns: int
    read_to: int


def original_of(record: Record) -> Original | None:
    """What the record repeats; None if it is an original itself, or its header is invalid. No original is given a later
    time than its repetition.
    """
    numbers = NUMBERS.fullmatch(record.header(HEADER))
    if numbers is None:
        return None
    offset, time_ns, read_to = map(int, numbers.groups())
    if not offset < read_to <= record.offset or time_ns < -TIME_NS_MAX:
        return None
    return Original(offset, min(time_ns, record.time_ns), read_to)


def repeated(record: Record, read_to: int) -> NewRecord:
    """The record to append again. It has no key, because the log would find the original by it and append nothing."""
    was = original_of(record) or Original(record.offset, record.time_ns, read_to)
    headers = tuple((name, value) for name, value in record.headers if name != HEADER)
    return NewRecord(payload=record.payload, headers=(*headers, (HEADER, f"{was.offset} {was.time_ns} {read_to}")))
