"""Where the packages of one publisher, for one recipient or for all, lie in the log: 24 bytes per entry, in columns,
without an object per package.

Offsets ascend, so a position is found by bisection; lengths are running totals, so that the content
of any stretch is one subtraction.
"""

from array import array
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import NamedTuple

TOTAL_MAX = 2**63 - 1
"""The largest value in a column. Only packages that claim an impossible size reach it; lengths are then no more than
a guess anyway."""


class View(NamedTuple):
    """The entries of some columns from an index on: not a copy, and valid until the columns change."""

    columns: "Columns"
    start: int

    @property
    def size(self) -> int:
        """How many entries."""
        return len(self.columns) - self.start

    @property
    def length(self) -> int:
        """Bytes to fetch for all of them."""
        return self.columns.total(self.start)

    @property
    def oldest_ns(self) -> int:
        """When the first was appended; 0 for an empty view."""
        return self.columns.times[self.start] if self.size else 0

    @property
    def newest(self) -> int:
        """The offset of the last entry; -1 for an empty view."""
        return self.columns.offsets[-1] if self.size else -1

    def through(self, offset: int) -> int:
        """How many of its entries have an offset of at most ``offset``."""
        return bisect_right(self.columns.offsets, offset, self.start) - self.start

    def page(self, after: int, limit: int) -> Sequence[int]:
        """The first ``limit`` of its offsets that are greater than ``after``."""
        first = self.start + self.through(after)
        return self.columns.offsets[first : first + limit]


class Columns:
    """Entries with strictly ascending offsets."""

    __slots__ = ("below", "offsets", "times", "totals")

    def __init__(self) -> None:
        self.offsets = array("q")
        self.times = array("q")
        """When each was appended, in nanoseconds."""
        self.totals = array("q")
        """The content up to and including each entry; the origin is arbitrary, see ``below``."""
        self.below = 0
        """The total just before the first entry, so that joining and dropping need not rewrite the others."""

    def __len__(self) -> int:
        return len(self.offsets)

    @property
    def nbytes(self) -> int:
        """Bytes of memory held by the columns, with the slack they grow into."""
        return sum(column.__sizeof__() for column in (self.offsets, self.times, self.totals))

    def append(self, offset: int, time_ns: int, length: int) -> None:
        """Add an entry of ``length`` bytes after all others."""
        assert not self.offsets or offset > self.offsets[-1]
        self.totals.append(min((self.totals[-1] if self.totals else self.below) + length, TOTAL_MAX))
        self.offsets.append(offset)
        self.times.append(time_ns)

    def prepend(self, older: "Columns") -> None:
        """Add all entries of ``older``, which lie before all of these and are used up. Linear: join large parts at a
        time.
        """
        if not older:
            return
        assert not self.offsets or self.offsets[0] > older.offsets[-1]
        shift = self.below - older.totals[-1]
        if len(self) < len(older):  # the fewer are shifted
            self.totals = array("q", [min(total - shift, TOTAL_MAX) for total in self.totals])
            self.below = older.below
        else:
            older.totals = array("q", [max(total + shift, -TOTAL_MAX) for total in older.totals])
            self.below = max(older.below + shift, -TOTAL_MAX)
        for before, after in ((older.offsets, self.offsets), (older.times, self.times), (older.totals, self.totals)):
            before.extend(after)
        self.offsets, self.times, self.totals = older.offsets, older.times, older.totals

    def copy(self) -> "Columns":
        """A copy."""
        copied = Columns()
        copied.offsets, copied.times, copied.totals = self.offsets[:], self.times[:], self.totals[:]
        copied.below = self.below
        return copied

    def cut(self, offset: int) -> "Columns":
        """Remove and return the entries with a smaller offset. Linear: cut many at a time."""
        older, count = Columns(), self.view(offset - 1).start
        older.offsets, older.times, older.totals = self.offsets[:count], self.times[:count], self.totals[:count]
        older.below = self.below
        self.drop_below(offset)
        return older

    def drop_below(self, offset: int) -> None:
        """Forget the entries with a smaller offset. Linear in what stays: drop many at a time."""
        count = self.view(offset - 1).start
        if count:
            self.below = self.totals[count - 1]
            del self.offsets[:count], self.times[:count], self.totals[:count]

    def view(self, after: int) -> View:
        """The entries with an offset greater than ``after``, found in O(log n)."""
        return View(self, bisect_right(self.offsets, after))

    def total(self, start: int) -> int:
        """Bytes to fetch from the entry with index ``start`` to the last."""
        if start >= len(self):
            return 0
        return self.totals[-1] - (self.totals[start - 1] if start else self.below)


def merged(several: Iterable[Columns]) -> Columns:
    """Columns with the entries of all of these, whose offsets differ. Linear, but for the sorting."""
    together = Columns()
    entries = [
        entry
        for columns in several
        for entry in zip(columns.offsets, columns.times, (columns.below, *columns.totals), columns.totals, strict=False)
    ]
    for offset, time_ns, before, total in sorted(entries):
        together.append(offset, time_ns, total - before)
    return together
