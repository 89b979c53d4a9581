"""A record that is written once more at the end of its topic, so that what lies before it may be removed.

It has the payload and the headers of the original, its id among them, and one more header: where the original was, when
it was appended, and up to where the topic had been read by whoever repeats it. Whoever folds the topic takes it for
what it is, an old word: it counts only where nothing newer is known. Older versions take it for a new one.
"""

import re
from dataclasses import dataclass

from callboard.messages.headers import TIME_NS_MAX
from callboard.messages.record import NewRecord, Record

HEADER = "repeats"
NUMBERS = re.compile(r"([0-9]{1,19}) (-?[0-9]{1,19}) ([0-9]{1,19})")


@dataclass(frozen=True, slots=True)
class Original:
    """Where and when a repeated record was first appended. ``read_to`` is the end of what was known when it was
    repeated: what was appended from there on and before the repetition is newer, though it comes before it.
    """

    offset: int
    time_ns: int
    read_to: int


def original_of(record: Record) -> Original | None:
    """What the record repeats; None if it is an original itself, or the header makes no sense. No original is younger
    than what repeats it.
    """
    numbers = NUMBERS.fullmatch(record.header(HEADER))
    if numbers is None:
        return None
    offset, time_ns, read_to = map(int, numbers.groups())
    if not offset < read_to <= record.offset or time_ns < -TIME_NS_MAX:
        return None
    return Original(offset, min(time_ns, record.time_ns), read_to)


def repeated(record: Record, read_to: int) -> NewRecord:
    """The record as it is appended once more. It has no key: by its own a log would take it for appended already."""
    was = original_of(record) or Original(record.offset, record.time_ns, read_to)
    headers = tuple((name, value) for name, value in record.headers if name != HEADER)
    return NewRecord(payload=record.payload, headers=(*headers, (HEADER, f"{was.offset} {was.time_ns} {read_to}")))
