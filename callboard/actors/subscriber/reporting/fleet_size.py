"""About how many subscribers announce themselves on the topic."""

from collections.abc import Iterable
from math import log
from zlib import crc32

from callboard.messages.record import Record
from callboard.messages.repeated import HEADER

SLOTS = 4096
"""Bytes of 0 or 1 in which producers are counted: a few percent off up to 10,000, where sets of names would take a
megabyte."""

PRODUCER, REPEATED = b"\0producer\0", b"\0" + HEADER.encode() + b"\0"


class FleetSize:
    """Counts the producers of the announcements that a subscriber reads anyway, to decide its own.

    The count is of the last two turns, of which each is as long as an interval between announcements. So all that
    announce themselves as often as we do are counted, and those that left are not counted for long. A newcomer reads
    few of a large fleet in its first, short turns, so it announces itself a few times more often than the others.
    """

    def __init__(self) -> None:
        self._now, self._before = bytearray(SLOTS), bytearray(SLOTS)  # of this turn, and of the one before
        self._began_s = float("-inf")

    def hear(self, records: Iterable[Record]) -> None:
        """Take the next records of the topic."""
        for record in records:
            _, _, rest = record.header_block.partition(PRODUCER)
            if rest and REPEATED not in rest:
                self._now[crc32(rest.partition(b"\0")[0]) % SLOTS] = 1

    def turn(self, now_s: float, turn_s: float) -> None:
        """Begin a new turn, if this one has lasted this many seconds."""
        if now_s - self._began_s >= turn_s:
            self._began_s, self._before, self._now = now_s, self._now, bytearray(SLOTS)

    @property
    def count(self) -> float:
        """The estimate."""
        heard = int.from_bytes(self._now) | int.from_bytes(self._before)
        free = max(SLOTS - heard.bit_count(), 1)
        return SLOTS * log(SLOTS / free)
