"""Who holds a name: a fold over the claims on a log, so that all readers come to the same answer."""

from dataclasses import dataclass, replace
from typing import Generic, TypeVar

ORIGIN = 1
"""A topic that was never trimmed begins at this offset or before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """One claim to a name by an instance.

    Attributes:
        speaker: the claimant; it stays the same across restarts. Only one process at a time has it.
        offset: of the claim on the topic.
        time_ns: of its record.
        duration_s: the lease: seconds from the claim on, counted by each observer on its own monotonic clock.
        takes_over: the offset of the previous holder's last claim, which was followed by silence for a whole lease;
            -1 for none.
        term: the offset of the claim that won the name, -1 until the claimant knows that it has the name.
        leaves: gives the name up.
        by_time: the claim of an older version, which knows no leases and goes by the times of records.
        since: found by the fold: the offset of the claim that won the name, -1 if the topic does not show it.
    """

    speaker: tuple[str, str]
    offset: int
    time_ns: int
    duration_s: float
    takes_over: int = -1
    term: int = -1
    leaves: bool = False
    by_time: bool = False
    since: int = -1


C = TypeVar("C", bound=Claim)


def takes_over(held: Claim, claim: Claim) -> bool:
    """Whether a rival's claim ends the holder's: it names the holder's last claim, after which it saw a whole lease of
    silence. An older version cannot say this, and takes the name by the times of records alone. The holder yields to
    it by the same times, or both would continue.
    """
    if claim.by_time:
        return claim.time_ns - held.time_ns > held.duration_s * 1e9
    return 0 <= held.offset == claim.takes_over


class Holder(Generic[C]):
    """Who holds a name after the claims so far, from the first one on the topic.

    A free name goes to the first claimant, which keeps it until it leaves or another one takes over; see
    ``takes_over``. Other claims have no effect. So exactly one of two that start at once gets the name, and likewise
    of two that take over, without any clock.
    """

    __slots__ = ("_first", "_freed", "_known", "_me", "last", "rival")

    def __init__(self, first: int = -1, me: tuple[str, str] | None = None) -> None:
        self._me = me  # the reader, no rival of itself
        self._first = -1  # where the fold began
        self._freed = -1  # the last claim of a holder that left
        self._known = False  # whether the name is free while there is no holder
        self.last: C | None = None
        """The last claim of the holder, or of the last holder if it left."""
        self.rival: C | None = None
        """Another candidate, while the topic does not tell which of the two has the name."""
        self.begin(first)

    @property
    def claim(self) -> C | None:
        """The holder's last claim, while there is a holder."""
        return None if self.last is None or self.last.leaves else self.last

    def begin(self, first: int) -> None:
        """Note that the topic begins at this offset, unless its beginning is known already."""
        if self._first < 0 <= first:
            self._first, self._known = first, first <= ORIGIN

    def lose(self, first: int) -> None:
        """Records below were removed unread, or this is another topic: any instance may have got the name meanwhile."""
        self._first, self._freed, self._known, self.rival = first, -1, False, None
        self.last = self.last and replace(self.last, offset=-1, since=-1)

    def settle(self, since: int) -> None:
        """The last speaker has the name, by its claim at the offset ``since``."""
        assert self.last is not None
        self.last, self.rival = replace(self.last, since=max(self.last.since, since)), None

    def hear(self, claim: C) -> None:
        """Fold the next claim on the topic."""
        held, term = self.claim, claim.term if claim.term < claim.offset else -1
        if held is not None:
            self.last = self._follow(held, claim, term)
        elif not claim.leaves or self.last is None or term >= 0 or claim.speaker == self.last.speaker:
            self.last = replace(claim, since=claim.offset if self._known else term)
        if self.claim is None and (held is not None or term >= 0):
            self._freed, self._known = claim.offset, True
        unseen = held is not None and self.last is held and held.offset < self._first and not claim.leaves
        self._note_rival(claim if unseen and term < 0 else held)  # it may have got the name in what is gone

    def hear_older(self, claim: C, read_to: int = -1) -> None:
        """Fold a claim from before the fold's beginning; these may come in any order. It is the claimant's last one
        before ``read_to``, so a takeover that names it and lies below ``read_to`` counts.
        """
        held, last = self.claim, self.last
        if not self._freed < claim.offset < self._first or (held is not None and claim.leaves):
            return
        over = held is not None and not claim.by_time and takes_over(held, claim)
        claim = replace(claim, since=claim.offset if over else claim.term)
        if last is None or claim.since > last.since or (last.leaves and last.since < 0 and not claim.leaves):
            newer = held is None or held.by_time or not takes_over(claim, held)
        else:
            newer = (claim.speaker, claim.since) == (last.speaker, last.since) and claim.offset > last.offset
        if newer:
            self.last = claim
        elif held is not None and held.since < 0 and held.offset < read_to and takes_over(claim, held):
            self.last = replace(held, since=held.offset)
        elif held is not None and held.since < 0 and not claim.by_time and claim.speaker != held.speaker:
            self.rival = claim
        self._note_rival(held)

    def _follow(self, held: C, claim: C, term: int) -> C:
        """The holder's last claim after this one.

        On a trimmed topic, two readers could come to different answers. So a claimant that says since when it has the
        name is believed, unless the holder got it later. While the holder is not known at all, it may be any claimant.
        """
        if claim.speaker == held.speaker:
            since = max(held.since, term)
            if claim.leaves and since < 0 and not claim.by_time:
                return held  # it was refused, by a holder that may still be there
            if claim.leaves and term not in (held.term, held.offset if held.term < 0 else held.term):
                return held  # a goodbye that was delayed: it has started again since
            over = held.takes_over if since < 0 else -1  # whether that one was the holder is not known yet
            return replace(claim, since=since, takes_over=max(claim.takes_over, over))
        if takes_over(held, claim):
            return replace(claim, since=claim.offset)
        unknown = held.since < 0 and not claim.by_time and (term >= 0 or not claim.leaves)
        return replace(claim, since=term) if unknown or term > held.since else held

    def _note_rival(self, before: C | None) -> None:
        """Note the former holder as a rival if it was not known since when it had the name.

        It may have the name still even where the new holder says since when it has it, if it spoke after that: one that
        has started again does not say it, either.
        """
        held = self.claim
        other = before is not None and held is not None and before.speaker not in (held.speaker, self._me)
        if before is not None and other and before.since < 0:
            self.rival = before
        if held is None or (self.rival is not None and max(self.rival.offset, 0) <= held.since):
            self.rival = None


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
