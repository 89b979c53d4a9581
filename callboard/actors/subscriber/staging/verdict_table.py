"""The golden subscriber's verdicts on packages: bounded, and the last one on each counts."""

from bisect import bisect_left, insort
from itertools import islice
from typing import NamedTuple

from callboard.messages.distribution.topic_messages import PackageStatusMessage


class Verdict(NamedTuple):
    """A verdict, its offset ``at`` on the status topic, and when it was decided: at the latest when it was appended. It
    is ``foreign`` if its instance is not known to have had the golden subscriber's name.
    """

    status: PackageStatusMessage
    at: int
    time_ns: int = 0
    foreign: bool = False


class VerdictTable:
    """The verdicts on packages from ``floor`` on, up to a maximum.

    If there are too many, those on the highest offsets are dropped, to be read again from ``again_at`` of
    the status topic once the packages from ``cut`` on come up.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._verdicts: dict[int, Verdict] = {}
        self._offsets: list[int] = []
        self.floor = 0
        self.cut = -1
        """The lowest offset whose verdict may be missing here; -1 if none."""
        self.again_at = -1
        """The offset of the status topic from which to read the missing verdicts."""

    def __len__(self) -> int:
        return len(self._offsets)

    def forget_below(self, floor: int) -> None:
        """Verdicts on lower offsets are no longer needed."""
        self.floor = floor
        gone = bisect_left(self._offsets, floor)
        for offset in self._offsets[:gone]:
            del self._verdicts[offset]
        del self._offsets[:gone]

    def start_over(self) -> None:
        """Forget everything: the status topic was replaced."""
        self._verdicts.clear()
        self._offsets.clear()
        self.cut = self.again_at = -1

    def read_again(self) -> int:
        """The dropped verdicts are about to be read again, from the returned offset of the status topic."""
        at, self.again_at, self.cut = self.again_at, -1, -1
        return at

    def add(
        self,
        status: PackageStatusMessage,
        at: int,
        appended_ns: int = 0,
        *,
        repeated: bool = False,
        foreign: bool = False,
    ) -> None:
        """Add a verdict. Of one instance the highest sequence wins, unless a lower one was decided later: the
        repository was restored, or the higher one is not its own. Of several instances the last sender wins. A
        repeated verdict is older than all known ones, and a foreign one never replaces one that is not.
        """
        offset, verdict = status.offset, Verdict(status, at, min(status.time_ns, appended_ns), foreign)
        if offset < self.floor:
            return
        if 0 <= self.cut <= offset:
            self._drop(verdict)
            return
        known = self._verdicts.get(offset)
        if known is None:
            insort(self._offsets, offset)
        elif foreign > known.foreign or (foreign == known.foreign and (repeated or _is_older(verdict, known))):
            return
        self._verdicts[offset] = verdict
        if len(self._offsets) > self._most:
            self._drop(self._verdicts.pop(self._offsets.pop()))

    def window(self, offset: int, most: int, position: int) -> tuple[PackageStatusMessage, ...]:
        """The first ``most`` verdicts on packages from ``offset`` on, by ascending offset. Foreign ones count
        up to ``position``, where the golden subscriber is: it will report nothing more about packages before it.
        """
        start = bisect_left(self._offsets, offset)
        found = (self._verdicts[each] for each in self._offsets[start:])
        return tuple(islice((it.status for it in found if not it.foreign or it.status.offset <= position), most))

    def _drop(self, verdict: Verdict) -> None:
        offset = verdict.status.offset
        self.cut = offset if self.cut < 0 else min(self.cut, offset)
        self.again_at = verdict.at if self.again_at < 0 else min(self.again_at, verdict.at)


def _is_older(verdict: Verdict, known: Verdict) -> bool:
    same = verdict.status.subscriber_instance == known.status.subscriber_instance
    return same and verdict.status.sequence < known.status.sequence and verdict.time_ns <= known.time_ns
