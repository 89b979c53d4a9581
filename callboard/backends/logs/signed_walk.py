"""The signatures on a stretch of a topic, by which a copy of a signed record is told."""

from bisect import bisect_left
from collections.abc import Iterable

from callboard.messages.signing import Signature

SKEW_NS = 300 * 10**9
"""The clock of who signs, and the time that a record has on the log, may differ by so much."""

POSITIONS_MAX = 10_000
"""A record lies at most so many offsets behind where the topic ended when it was signed: what a large fleet appends in
two seconds, ten times over. So many signatures are remembered, 250 bytes each."""

SLACK = 1_000
"""More than that may be remembered: to forget them one by one costs more than they take."""


class SignedWalk:
    """Everything genuine on ``[since, next)``, or the last of it that matters.

    A copy lies behind its original, which lies behind where the topic ended when it was signed. So it is found if all
    from there on was read. If the original may have been trimmed away, what was signed since gives the copy away. Only
    then: somebody's clock may be wrong, and that must silence nobody else.
    """

    def __init__(self, start: int) -> None:
        self.since = self.next = self._complete_from = start
        self._offsets: list[int] = []
        self._signed_ns: list[int] = []
        self._first: dict[bytes, int] = {}

    def take(self, offset: int, signature: Signature) -> str:
        """Why the next record does not count, genuine as its signature is; empty if it does."""
        original = self._first.setdefault(signature.mac, offset)
        if original != offset:
            return f"it is a copy of the record at offset {original}"
        newest_ns = max(self._signed_ns, default=0) if signature.end < self._complete_from else 0
        self._offsets.append(offset)
        self._signed_ns.append(signature.signed_ns)
        if newest_ns - signature.signed_ns > 2 * SKEW_NS:
            return f"it is an old one copied: it was signed before others that lie behind offset {signature.end}"
        return ""

    def go_back(self, since: int, found: Iterable[tuple[int, Signature]], complete_from: int) -> None:
        """What lies before all that is known, from ``since`` on; the log has nothing before ``complete_from``."""
        before = list(found)
        self._offsets[:0] = (offset for offset, _ in before)
        self._signed_ns[:0] = (signature.signed_ns for _, signature in before)
        for offset, signature in reversed(before):
            self._first[signature.mac] = offset
        self.since, self._complete_from = since, complete_from

    def go_on(self, following: int) -> None:
        """All below ``following`` was taken; what is too far back for any copy is forgotten."""
        self.next = following
        gone = bisect_left(self._offsets, following - POSITIONS_MAX)
        if gone > SLACK:
            del self._offsets[:gone], self._signed_ns[:gone]
            self.since = following - POSITIONS_MAX
            self._first = {mac: offset for mac, offset in self._first.items() if offset >= self.since}
