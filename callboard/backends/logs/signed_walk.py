"""The signatures on a stretch of a topic, which reveal copies of signed records."""

from bisect import bisect_left
from collections.abc import Iterable

from callboard.messages.signing import Signature

SKEW_NS = 300 * 10**9
"""The maximum difference between the signer's clock and a record's time on the log."""

POSITIONS_MAX = 10_000
"""How many offsets a record may lie after the end that its signer knew: ten times what a large fleet appends in two
seconds. This many signatures are remembered, 250 bytes each."""

SLACK = 1_000
"""How many more may be remembered: forgetting them one by one costs more than their memory."""


class SignedWalk:
    """The genuine signatures on ``[since, next)``, or as many of the last as matter.

    A copy comes after its original, which comes after the end that the signer knew. So it is found if everything since
    that end was read. If the original may be trimmed, later signatures expose the copy. Only then: a wrong clock of one
    signer must not silence others.
    """

    def __init__(self, start: int) -> None:
        self.since = self.next = self._complete_from = start
        self._offsets: list[int] = []
        self._signed_ns: list[int] = []
        self._first: dict[bytes, int] = {}

    def take(self, offset: int, signature: Signature) -> str:
        """Why the next record does not count, despite its genuine signature; empty if it does count."""
        original = self._first.setdefault(signature.mac, offset)
        if original != offset:
            return f"it is a copy of the record at offset {original}"
        newest_ns = max(self._signed_ns, default=0) if signature.end < self._complete_from else 0
        self._offsets.append(offset)
        self._signed_ns.append(signature.signed_ns)
        if newest_ns - signature.signed_ns > 2 * SKEW_NS:
            return f"it is a copy of an old one: it was signed before records that come after offset {signature.end}"
        return ""

    def go_back(self, since: int, found: Iterable[tuple[int, Signature]], complete_from: int) -> None:
        """Add the signatures before the known ones, from ``since`` on; the log has nothing before ``complete_from``."""
        before = list(found)
        self._offsets[:0] = (offset for offset, _ in before)
        self._signed_ns[:0] = (signature.signed_ns for _, signature in before)
        for offset, signature in reversed(before):
            self._first[signature.mac] = offset
        self.since, self._complete_from = since, complete_from

    def go_on(self, following: int) -> None:
        """Note that everything below ``following`` was taken; forget signatures too far back for any copy."""
        self.next = following
        gone = bisect_left(self._offsets, following - POSITIONS_MAX)
        if gone > SLACK:
            del self._offsets[:gone], self._signed_ns[:gone]
            self.since = following - POSITIONS_MAX
            self._first = {mac: offset for mac, offset in self._first.items() if offset >= self.since}
