"""Who holds a name: a fold over the claims on a log, so that all readers come to the same answer."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

ORIGIN = 1
"""A topic that was never trimmed begins at this offset or before."""

NEVER = -1
"""In place of an offset: before all others, or none."""

CLAIMS_MAX = 32
"""Claims that a fold keeps: a few for each host, because the claims of one term count once. Anyone can write more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """One claim to a name by an instance.

    Attributes:
        speaker: the claimant; it stays the same across restarts. Only one process at a time has it.
        offset: of the claim on the topic.
        time_ns: of its record.
        duration_s: the lease: seconds from the claim on, counted by each observer on its own monotonic clock.
        takes_over: the offset of the last claim of the previous holder, or of the last of all that might have been it;
            it was followed by silence for a whole lease. ``NEVER`` for none.
        term: the offset of the claim that won the name, ``NEVER`` until the claimant knows that it has the name.
        leaves: gives the name up.
        by_time: the claim of an older version, which knows no leases and goes by the times of records.
    """

    speaker: tuple[str, str]
    offset: int
    time_ns: int
    duration_s: float
    takes_over: int = NEVER
    term: int = NEVER
    leaves: bool = False
    by_time: bool = False


C = TypeVar("C", bound=Claim)


def takes_over(held: Claim, claim: Claim) -> bool:
    """Whether a rival's claim ends the holder's: it names the holder's last claim, after which it saw a whole lease of
    silence. An older version cannot say this, and takes the name by the times of records alone. The holder yields to
    it by the same times, or both would continue.
    """
    if claim.by_time:
        return claim.time_ns - held.time_ns > held.duration_s * 1e9
    return 0 <= held.offset == claim.takes_over


def _says_more(claim: Claim, before: Claim) -> bool:
    """Whether nothing is lost if only the claim is folded, and not the one before it."""
    return claim.speaker == before.speaker and not claim.leaves and before.term <= claim.term != NEVER


class Holder(Generic[C]):
    """Who holds a name after the claims so far.

    A free name goes to the first claimant, which keeps it until it leaves or another one takes over; see
    ``takes_over``. Other claims have no effect. So exactly one of two that start at once gets the name, and likewise
    of two that take over, without any clock.

    A topic without its beginning need not show who has the name. A claimant that says since when it has the name (its
    term) is believed, unless another one got it later. Until one says so, each later claimant may be the holder, and
    those before it remain its rivals. The last claims of what was removed are repeated on the topic, in any order. So
    the fold keeps its claims, and folds all of them again, by their original offsets, with each older one it hears.
    """

    __slots__ = ("_claims", "_first", "_free", "_since", "last", "rivals")

    def __init__(self, first: int = NEVER) -> None:
        self._first = first  # of the topic
        self._claims: list[C] = []  # in the order of their offsets
        self._start(free=0 <= first <= ORIGIN)

    def _start(self, *, free: bool) -> None:
        self._free = free  # whether the name is known to be free if there is no holder
        self._since = NEVER  # the claim that won the name for the holder, if the topic shows it
        self.last: C | None = None
        """The last claim of the holder, or of the last holder if it left."""
        self.rivals: dict[tuple[str, str], C] = {}
        """By speaker, the last claims of others that may have the name instead of the holder."""

    @property
    def claim(self) -> C | None:
        """The holder's last claim, while there is a holder."""
        return None if self.last is None or self.last.leaves else self.last

    @property
    def kept(self) -> Sequence[C]:
        """The claims that it has in memory."""
        return self._claims

    def begin(self, first: int) -> None:
        """Note that the topic begins at this offset, unless its beginning is known already."""
        if self._first < 0 <= first:
            self._first, self._free = first, first <= ORIGIN

    def lose(self, first: int) -> None:
        """Records below were removed unread, or this is another topic: any instance may have got the name meanwhile."""
        last = self.last and replace(self.last, offset=first - 1, term=NEVER)
        self._first, self._claims = first, [last] if last is not None else []
        self._start(free=False)
        self.last = last

    def settle(self, since: int) -> None:
        """The last speaker has the name, by its claim at the offset ``since``."""
        assert self.last is not None
        self._since, self.rivals = max(self._since, since), {}
        self._claims = [replace(self.last, term=self._since)]

    def hear(self, claim: C) -> None:
        """Fold the next claim on the topic."""
        self._keep(claim)
        self._fold(claim)

    def hear_older(self, claim: C, read_to: int | None = None) -> None:
        """Fold a claim from before the fold's beginning; these may come in any order.

        Args:
            claim: with its original offset.
            read_to: it is the claimant's last one below this offset. If the topic begins later than that, the claimant
                may have spoken up to there.
        """
        if claim.offset >= self._first:
            return
        if read_to is not None and read_to < self._first:
            claim = replace(claim, offset=self._first - 1)
        self._keep(claim)
        self._start(free=False)
        for each in self._claims:
            self._fold(each)

    def _keep(self, claim: C) -> None:
        """Keep the claim for the next time all are folded, without those just before it that say less."""
        at = bisect_right(self._claims, claim.offset, key=lambda each: each.offset)
        if at and (self._claims[at - 1].speaker, self._claims[at - 1].offset) == (claim.speaker, claim.offset):
            return
        start = at
        while start and _says_more(claim, self._claims[start - 1]):
            start -= 1
        self._claims[start:at] = [claim]
        del self._claims[:-CLAIMS_MAX]

    def _fold(self, claim: C) -> None:
        held, term = self.claim, claim.term if claim.term <= claim.offset else NEVER
        if held is None:
            self._hear_first(claim, term)
        elif claim.speaker == held.speaker:
            self._hear_holder(held, claim, term)
        elif takes_over(held, claim) or self._covers(held, claim):
            over = claim.offset if claim.by_time else claim.takes_over
            since = claim.offset if held.offset >= self._first else over  # another, which is gone, may have been first
            self._give(claim, term if term > held.offset else since, after=over)
        elif term > self._since or (self._since == NEVER and not claim.by_time and not claim.leaves):
            if self._since == NEVER:
                self.rivals[held.speaker] = held
            self._give(claim, term, after=term)
        elif claim.leaves:
            self.rivals.pop(claim.speaker, None)
        elif self._may_have_it(held, claim, term):
            self.rivals[claim.speaker] = claim
        self._free = self._free and claim.offset >= self._first  # any instance may have got it in what is gone

    def _covers(self, held: C, claim: C) -> bool:
        """Whether the claim takes over from the holder though it names another claim: a later one of a rival."""
        if claim.by_time or not held.offset < claim.takes_over < claim.offset:
            return False
        rivals = (each.offset for each in self.rivals.values() if each.speaker != claim.speaker)
        return held.offset >= self._first or claim.takes_over in rivals

    def _may_have_it(self, held: C, claim: C, term: int) -> bool:
        """Whether the claimant may have got the name in what is gone, or from a rival."""
        rivals = (each for each in self.rivals.values() if each.speaker != claim.speaker)
        if any(takes_over(each, claim) for each in rivals):
            return True
        over = claim.takes_over if term == NEVER else NEVER
        if over >= self._first or any(each.offset == over for each in self._claims):
            return False  # it did not have the name by then, and came too late to take it over
        return claim.speaker in self.rivals or (term == NEVER and held.offset < self._first)

    def _hear_first(self, claim: C, term: int) -> None:
        """Fold a claim while there is no holder."""
        if not claim.leaves:
            self._give(claim, claim.offset if self._free else term, after=max(term, claim.takes_over))
        elif self.last is None or term != NEVER or claim.speaker == self.last.speaker:
            self.last, self._free = claim, self._free or term != NEVER

    def _hear_holder(self, held: C, claim: C, term: int) -> None:
        """The holder speaks, or another one in its place after a restart."""
        if claim.leaves and self._since == term == NEVER and not claim.by_time:
            return  # it was refused, by a holder that may still be there
        if claim.leaves and term not in (held.term, held.offset if held.term == NEVER else held.term):
            return  # a goodbye that was delayed: it has started again since
        self._give(claim, max(self._since, term), after=term)

    def _give(self, claim: C, since: int, after: int) -> None:
        """The claimant has the name, unless one of the rivals has it that spoke after that offset."""
        self.last, self._since = claim, since
        others = (each for each in self.rivals.values() if each.speaker != claim.speaker)
        self.rivals = {each.speaker: each for each in others if after == NEVER or each.offset > after}
        if claim.leaves:
            self._free = not self.rivals


N = TypeVar("N", int, float)


def counted(passed: N, gap: N) -> N:
    """How much of the time between two looks at a clock counts against a lease: at most ``gap``, because no one can
    renew while the log is unavailable, and nothing if the clock was set back.
    """
    return min(max(passed, gap * 0), gap)


class LeaseClock:
    """The time in which a holder could be heard: an observer's monotonic clock without long gaps.

    While the observer is suspended, or its log does not answer, it can hear no one, and claims wait to be read. So the
    time between two looks counts only up to a limit that the observer gives.
    """

    def __init__(self) -> None:
        self.now_s = 0.0
        """The seconds counted so far."""
        self._looked_s: float | None = None

    def look(self, mono_s: float, gap_s: float = 0.0) -> float:
        """The observer looks now: count the seconds since its last look, ``gap_s`` at most; return the total."""
        passed_s = mono_s - self._looked_s if self._looked_s is not None else 0.0
        self.now_s, self._looked_s = self.now_s + counted(passed_s, gap_s), mono_s
        return self.now_s
