"""The part of the log that the queue cache knows. It grows with the log, and towards older packages on demand."""

from callboard.actors.publisher.queues.older_blocks import Block, Figures, OlderBlocks, joined
from callboard.actors.publisher.queues.package_index import PackageIndex
from callboard.actors.publisher.queues.queue import Wanted
from callboard.messages.distribution.queue_mail import PackagesSeen, QueueSize, RangeDone, RangeWanted
from callboard.messages.event import replaced

SLACK = 16
"""The fraction of the bound evicted at a time, or exceeded while reading: moving arrays is costly."""

SEGMENT = 5_000
"""Least number of offsets read at a time towards older packages: other readers of the log wait no longer than for one
piece, and a query for a short queue does not wait for a longer one to be counted."""
SEGMENT_PART = 50
"""Or this part of the index, if that is more."""


class CachedRange:
    """The index of a contiguous range up to the newest package, and figures by block for what lies before it.

    ::

        first           start            index.start          index.stop
          | not known yet | blocks: figures | index: columns    | new packages

    Two things are read by the older poller, at most one of each at a time. A *range* is wanted where packages are not
    known: before ``start`` (``reach``), or in the gap that a restarted tail poller leaves before a new index (``add``).
    ``fill`` collects it, ``finish`` joins it to the rest. A *block* is loading when an answer needs its columns again.

    At most ``max_entries`` packages are in the index, the newest ones, with 1/16 more while older ones are read, and
    a quarter more in the columns of the blocks used last. Of other blocks only figures are kept, so a queue may reach
    back as far as the log does: its size is exact, and columns that it needs are read on demand.
    """

    def __init__(self, max_entries: int) -> None:
        self.index: PackageIndex | None = None
        """None until the tail poller's anchor arrives."""
        self.wanted: RangeWanted | None = None
        """The range being read to know more of the log."""
        self.loading: RangeWanted | None = None
        """The block being read for its columns."""
        self.checkpoint: PackageIndex | None = None
        """What a checkpoint knows; it joins the rest once everything from its end on is known."""
        self.older = OlderBlocks()
        self.first = 0
        """Where the log began when last checked."""
        self._reading: PackageIndex | None = None  # of the range being read
        self._overflow: list[Block] = []  # its part that does not fit in memory
        self._read_stop = 0  # its end
        self._in_gap = False  # it lies between the blocks and the index, not before both
        self._block: tuple[Block, PackageIndex] | None = None  # the block whose columns are being read, and those
        self._max_entries = max_entries
        self._slack = max_entries // SLACK

    @property
    def log_id(self) -> str:
        """The log that is known; empty until the first package."""
        return "" if self.index is None else self.index.log_id

    @property
    def start(self) -> int:
        """Everything from here on is known."""
        assert self.index is not None
        return self.older.start if self.older.blocks and not self._in_gap else self.index.start

    @property
    def publishers(self) -> tuple[str, ...]:
        """Publishers that have packages in here, sorted."""
        assert self.index is not None
        return tuple(sorted({*self.index.publishers, *self.older.publishers}))

    # Answers. None means that a block has to be read first; then it is wanted.

    def size(self, wanted: Wanted) -> QueueSize | None:
        """The figures of a queue that begins within the known range."""
        assert self.index is not None
        older = self.older.figures(wanted) if wanted.after + 1 < self.index.start else Figures()
        if older is None:
            self._load()
            return None
        return joined((older, Figures.of(self.index, wanted))).to_size(wanted)

    def counted(self, wanted: Wanted) -> QueueSize | None:
        """The figures of the known part of a queue."""
        assert self.index is not None
        uncounted = max(self.start - max(wanted.after + 1, self.first), 0)
        if not uncounted:
            return self.size(wanted)
        known = self.size(wanted._replace(after=self.start - 1))
        return replaced(known, after=wanted.after, uncounted=uncounted) if known is not None else None

    def page(self, wanted: Wanted, skip: int, limit: int) -> tuple[int, ...] | None:
        """``limit`` offsets of that queue after the first ``skip``."""
        assert self.index is not None
        older = self.older.page(wanted, skip, limit) if wanted.after + 1 < self.index.start else ((), skip)
        if older is None:
            self._load()
            return None
        offsets, skip = older
        return (*offsets, *self.index.queue(wanted).page(skip, limit - len(offsets)))

    # New packages, and what the older poller reads.

    def add(self, seen: PackagesSeen) -> bool:
        """Add what the tail poller saw. Return whether it is from another log, so that all else is void."""
        index = self.index
        another = index is not None and index.log_id != seen.log_id
        if index is None or another:
            self.index = index = PackageIndex(seen.log_id, seen.start)
            self.first = 0
            self.checkpoint = None
            self.older.clear()
            self._stop_reading()
            self._stop_loading()
        elif seen.start > index.stop:
            # The tail poller restarted and missed some: keep what is known and read what lies between.
            if self._in_gap:
                self.older.clear()
            self._stop_reading()
            self._reading, self._in_gap, self._read_stop = index, True, seen.start
            self.index = index = PackageIndex(seen.log_id, seen.start)
            self.resume()
        index.add(seen)
        if len(index) > self._max_entries:
            if self._in_gap:
                self.older.clear()
                self._stop_reading()
            self.older.after([Block.of(index.cut(len(index) - self._max_entries + self._slack))])
        return another

    def reach(self, offset: int) -> None:
        """Begin to read the newest part between ``offset`` and the known range, unless a read is running."""
        if self._reading is None and self.index is not None:
            self._read_stop = self.start
            segment = max(SEGMENT, len(self.index) // SEGMENT_PART)
            start = max(offset, self._read_stop - segment)
            if self.older.blocks:
                start = max(self._read_stop - max(self._slack, 1), 0)  # a whole block
            if self.checkpoint is not None and self.checkpoint.stop < self._read_stop:
                start = max(start, self.checkpoint.stop)
            self._reading = PackageIndex(self.index.log_id, start)
            self.resume()

    def join(self) -> None:
        """Add what the checkpoint knows, if it reaches the known range, and no read is running."""
        found, index = self.checkpoint, self.index
        if found is None or index is None or self._reading is not None or found.stop < self.start:
            return
        self.checkpoint = None
        if found.start < self.start:
            self._reading = found = found.split(self.start) if found.stop > self.start else found
            while len(found) > self._room + self._slack:
                self._overflow.append(Block.of(found.cut(max(self._slack, 1))))
            self._join(found, index)

    def resume(self) -> None:
        """Want the missing part of the range being read."""
        if self._reading is not None:
            self.wanted = RangeWanted(log_id=self._reading.log_id, start=self._reading.stop, stop=self._read_stop)

    def fill(self, seen: PackagesSeen) -> None:
        """Add what the older poller read, if it continues a range being read."""
        reading = self._reading
        if reading is not None and _continues(reading, seen, self._read_stop):
            reading.add(seen)
            if len(reading) > self._room + self._slack:
                self._overflow.append(Block.of(reading.cut(len(reading) - self._room)))
        if self._block is not None and _continues(self._block[1], seen, self._block[0].stop):
            self._block[1].add(seen)

    def finish(self, done: RangeDone) -> bool:
        """The older poller is done with a range. Return whether that range was being read and is given up."""
        if (wanted := self.loading) and (done.start, done.stop) == (wanted.start, wanted.stop):
            return self._loaded(done)
        reading, index, wanted = self._reading, self.index, self.wanted
        if reading is None or index is None or wanted is None:
            return False
        if (done.start, done.stop) != (wanted.start, wanted.stop):
            return False
        if done.problem:
            if self._in_gap:
                self.older.clear()
            self._stop_reading()
            return True
        if reading.stop < self._read_stop:
            self.resume()  # some piece got lost
        else:
            self._join(reading, index)
        return False

    def trim(self, first: int) -> None:
        """The log now begins at ``first``."""
        if self.index is None:
            return
        self.first, start = first, self.index.start
        self.index.trim(first)
        if self.older.trim(first):
            self._stop_loading()
            if not self._in_gap:
                self._stop_reading()
        if self.index.start != start:
            self.older.clear()
            self._stop_reading()

    @property
    def _room(self) -> int:
        """How many of the packages being read fit in the index; the others become blocks."""
        assert self.index is not None
        if self.older.blocks and not self._in_gap:
            return 0
        return max(self._max_entries - len(self.index), 0)

    def _join(self, reading: PackageIndex, index: PackageIndex) -> None:
        """The range is read: its newest packages go into the index if it reaches that, the others into blocks."""
        if len(reading) > self._room or (self.older.blocks and not self._in_gap):
            self._overflow.append(Block.of(reading.cut(len(reading) - self._room)))
        if self._in_gap:
            self.older.after(self._overflow)
        else:
            self.older.before(self._overflow)
        if reading.stop == index.start:
            index.prepend(reading)
        self._stop_reading()

    def _stop_reading(self) -> None:
        self._reading = self.wanted = None
        self._in_gap, self._overflow = False, []

    def _load(self) -> None:
        """Read the block that an answer lacks, unless one is being read already."""
        if self.loading is None and (block := self.older.missing) is not None:
            self._block = (block, PackageIndex(self.log_id, block.start))
            self.loading = RangeWanted(log_id=self.log_id, start=block.start, stop=block.stop)

    def _loaded(self, done: RangeDone) -> bool:
        """The block is read. Return whether it is given up."""
        assert self._block is not None
        block, index = self._block
        self._stop_loading()
        if done.problem:
            return True
        if index.stop == block.stop:  # otherwise a piece got lost, and the next query reads it again
            self.older.load(block, index)
        return False

    def _stop_loading(self) -> None:
        self._block = self.loading = None


def _continues(index: PackageIndex, seen: PackagesSeen, stop: int) -> bool:
    """Whether these packages leave no gap behind the index, and do not go beyond ``stop``."""
    return seen.log_id == index.log_id and index.start <= seen.start <= index.stop and seen.stop <= stop
