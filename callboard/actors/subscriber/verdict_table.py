"""What the golden subscriber told of packages: bounded, and the last word on each holds."""

from bisect import bisect_left, insort
from typing import NamedTuple

from callboard.messages.distribution import PackageStatusMessage


class Told(NamedTuple):
    """A verdict, and the offset of the status topic that it was read at."""

    status: PackageStatusMessage
    at: int


class VerdictTable:
    """The verdicts on packages from ``floor`` on, so many at most.

    What does not fit is the verdicts on the highest offsets. They are dropped, to be read again from ``again_at`` of
    the status topic once the packages from ``cut`` on come up.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._told: dict[int, Told] = {}
        self._offsets: list[int] = []
        self.floor = 0
        self.cut = -1
        """The lowest offset whose verdict may be missing here; -1 if none is."""
        self.again_at = -1
        """The offset of the status topic from where those that are missing have to be read."""

    def __len__(self) -> int:
        return len(self._offsets)

    def forget_below(self, floor: int) -> None:
        """Nobody asks for verdicts on lower offsets any more."""
        self.floor = floor
        gone = bisect_left(self._offsets, floor)
        for offset in self._offsets[:gone]:
            del self._told[offset]
        del self._offsets[:gone]

    def start_over(self) -> None:
        """Forget everything: it is another status topic."""
        self._told.clear()
        self._offsets.clear()
        self.cut = self.again_at = -1

    def read_again(self) -> int:
        """What was dropped is going to be read again, from the returned offset of the status topic."""
        at, self.again_at, self.cut = self.again_at, -1, -1
        return at

    def add(self, status: PackageStatusMessage, at: int, *, repeated: bool = False) -> None:
        """Take in a verdict. Of one instance the highest sequence holds, of several the one that told last. One that
        was repeated is older than all that is known.
        """
        offset, told = status.offset, Told(status, at)
        if offset < self.floor:
            return
        if 0 <= self.cut <= offset:
            self._drop(told)
            return
        known = self._told.get(offset)
        if known is None:
            insort(self._offsets, offset)
        elif repeated or _is_older(status, known.status):
            return
        self._told[offset] = told
        if len(self._offsets) > self._most:
            self._drop(self._told.pop(self._offsets.pop()))

    def window(self, offset: int, most: int) -> tuple[PackageStatusMessage, ...]:
        """The first so many verdicts on packages from ``offset`` on, by ascending offset."""
        start = bisect_left(self._offsets, offset)
        return tuple(self._told[known].status for known in self._offsets[start : start + most])

    def _drop(self, told: Told) -> None:
        offset = told.status.offset
        self.cut = offset if self.cut < 0 else min(self.cut, offset)
        self.again_at = told.at if self.again_at < 0 else min(self.again_at, told.at)


def _is_older(status: PackageStatusMessage, known: PackageStatusMessage) -> bool:
    same = status.subscriber_instance == known.subscriber_instance
    return same and status.sequence < known.sequence
