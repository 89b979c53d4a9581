"""The last announcement of every subscriber, bounded: any writer of the log can announce any name and content."""

from collections import OrderedDict
from collections.abc import Iterator

from callboard.actors.core.lease import Holder
from callboard.actors.publisher.fleet.liveness import Heard
from callboard.messages.distribution.fleet_mail import Member

BYTES_MAX = 48 << 20
"""Bytes of all announcements: the fleet view crosses to the service in one frame, which has 64 MB at most. Ten
thousand subscribers that follow ten publishers each take a fifth of it."""

KEPT_PART = 7 / 8
"""Bytes kept once the bound is hit: looking for the largest each time would cost more than it saves."""

TEXT_BYTES, STATE_BYTES = 64, 256
"""About the memory that a text, and a state, take beside their characters."""


class Roster:
    """The announcements by subscriber, the most recently heard at the end.

    Above the limit of their number, those silent for longest are dropped. Above the limit of bytes, the longest are:
    a genuine announcement is short.
    """

    def __init__(self, most: int, most_bytes: int = BYTES_MAX) -> None:
        self._most = most
        self._most_bytes = most_bytes
        self._holders: OrderedDict[str, Holder[Heard]] = OrderedDict()
        self._weights: dict[str, int] = {}
        self._members: dict[str, Member] = {}  # as last asked for
        self._bytes = 0

    def get(self, name: str) -> Holder[Heard] | None:
        """The holder of this name."""
        return self._holders.get(name)

    def put(self, name: str, holder: Holder[Heard], *, last: bool) -> None:
        """Replace what is known, as the most or the least recently heard."""
        self.pop(name)
        self._holders[name] = holder
        self._holders.move_to_end(name, last=last)
        self._weights[name] = sum(map(_weight, holder.kept))
        self._bytes += self._weights[name]

    def pop(self, name: str) -> None:
        """Forget this subscriber."""
        if self._holders.pop(name, None) is not None:
            self._bytes -= self._weights.pop(name)
            self._members.pop(name, None)

    def lose(self, first: int) -> None:
        """What lies below ``first`` was not read; see ``Holder``."""
        for holder in self._holders.values():
            holder.lose(first)

    def make_room(self) -> Iterator[str]:
        """Forget as many as exceed the bounds, and yield their names."""
        while len(self._holders) > self._most:
            name = next(iter(self._holders))
            self.pop(name)
            yield name
        if self._bytes > self._most_bytes:
            for name in sorted(self._weights, key=self._weights.__getitem__, reverse=True):
                self.pop(name)
                yield name
                if self._bytes <= KEPT_PART * self._most_bytes:
                    break

    def members(self, now_s: float, gone_after_s: float) -> tuple[Member, ...]:
        """All that are known, by name. Of a large fleet at rest nearly all are the same as the last time."""
        for name, holder in self._holders.items():
            if (heard := holder.last) is None:
                self._members.pop(name, None)
                continue
            known, liveness = self._members.get(name), heard.liveness(now_s, gone_after_s)
            if known is None or known.announcement is not heard.said or known.liveness is not liveness:
                self._members[name] = Member(announcement=heard.said, liveness=liveness, seen_ns=heard.seen_ns)
        return tuple(member for _, member in sorted(self._members.items()))


def _weight(heard: Heard) -> int:
    """Its bytes on the way to the service, plus the memory of its many small parts."""
    said, its = heard.said, heard.said.configuration
    texts = len(its.follows) + len(its.include) + len(its.exclude) + len(said.left)
    return heard.nbytes + TEXT_BYTES * texts + STATE_BYTES * len(said.states)
