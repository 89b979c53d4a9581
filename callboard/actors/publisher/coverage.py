"""Which part of the log the queue cache knows. It grows with the log, and towards older packages on demand."""

from callboard.actors.publisher.package_index import PackageIndex
from callboard.messages.mailbox import PackagesSeen, RangeDone, RangeWanted

SLACK = 16
"""One part in so many of the bound is evicted at a time, or overstepped while reading: moving arrays costs."""


class Coverage:
    """The index of a contiguous range up to the newest package, and the piece below it that is being read.

    At most ``max_entries`` packages are kept, the newest ones, with 1/16 more while older ones are read.
    Once more than 15/16 of the bound is filled nothing older is read, so that reading and evicting cannot
    chase each other; ``full`` then tells that queues may reach below what is known.
    """

    def __init__(self, max_entries: int) -> None:
        self.index: PackageIndex | None = None
        """None until the tail poller's anchor came."""
        self.wanted: RangeWanted | None = None
        """The range that is being read, up to the start of the index."""
        self._older: PackageIndex | None = None
        self._max_entries = max_entries
        self._slack = max_entries // SLACK

    @property
    def log_id(self) -> str:
        """The log that all this is about; empty until it is known."""
        return "" if self.index is None else self.index.log_id

    @property
    def full(self) -> bool:
        """Whether memory forbids to reach further back."""
        return self.index is not None and len(self.index) >= self._max_entries - self._slack

    def add(self, seen: PackagesSeen) -> bool:
        """Take in what the tail poller saw. Answers whether it is from another log, so that all else is void."""
        index = self.index
        replaced = index is not None and index.log_id != seen.log_id
        if index is None or replaced:
            self.index = index = PackageIndex(seen.log_id, seen.start)
            self._stop_reading()
        elif seen.start > index.stop:
            # The tail poller was restarted and missed some: keep what is known and read what lies between.
            self._older, self.index = index, PackageIndex(seen.log_id, seen.start)
            index = self.index
            self.resume()
        index.add(seen)
        if len(index) > self._max_entries:
            index.evict(self._max_entries - self._slack)
            self._stop_reading()
        return replaced

    def reach(self, offset: int) -> None:
        """Begin to read what lies between ``offset`` and the index, unless something is being read."""
        if self._older is None and self.index is not None:
            self._older = PackageIndex(self.index.log_id, offset)
            self.resume()

    def resume(self) -> None:
        """Want what is still missing of the range that is being read."""
        if self._older is not None and self.index is not None:
            stop = self.index.start
            self.wanted = RangeWanted(log_id=self.index.log_id, start=self._older.stop, stop=stop)

    def fill(self, seen: PackagesSeen) -> None:
        """Take in what the head poller read, if it continues the range that is being read."""
        older, index = self._older, self.index
        if older is None or index is None or seen.log_id != index.log_id:
            return
        if older.start <= seen.start <= older.stop and seen.stop <= index.start:
            older.add(seen)
            room = max(self._max_entries - len(index), 0)
            if len(older) > room + self._slack:
                older.evict(room)

    def finish(self, done: RangeDone) -> bool:
        """The head poller is done with a range. Answers whether it is the one being read and is given up."""
        older, index, wanted = self._older, self.index, self.wanted
        if older is None or index is None or wanted is None:
            return False
        if (done.start, done.stop) != (wanted.start, wanted.stop):
            return False
        if done.problem:
            self._stop_reading()
            return True
        if older.stop < index.start:
            self.resume()  # some piece got lost on the way
        else:
            older.evict(max(self._max_entries - len(index), 0))
            index.prepend(older)
            self._stop_reading()
        return False

    def trim(self, first: int) -> None:
        """The log now begins at ``first``."""
        if self.index is None:
            return
        start = self.index.start
        self.index.trim(first)
        if self.index.start != start:
            self._stop_reading()

    def _stop_reading(self) -> None:
        self._older = self.wanted = None
