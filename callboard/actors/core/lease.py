"""Who holds a name: a fold over what is claimed on a log, so that everybody comes to the same answer."""

from dataclasses import dataclass, replace
from typing import Generic, TypeVar

ORIGIN = 1
"""The first offset of a topic that nothing was removed from, at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """What an instance says of a name, and where.

    ``speaker`` is the same as long as there is only one such instance at a time, which may start again. The name is
    lent to it for ``duration_s`` from then on, by everybody's own monotonic clock. ``takes_over`` is the offset of the
    former holder's last claim, which it has watched in vain for a whole lease, -1 for none; ``term`` is the offset of
    the claim that got it the name, -1 until it knows that it has; and with ``leaves`` it gives the name up. An older
    version knows nothing of these, and goes ``by_time``. ``since`` is found by the fold: the offset of what got it the
    name, -1 if the topic does not tell that it has it.
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
    """Whether the claim of somebody else ends the holder's: it names the holder's very last one, as one that was
    watched in vain for a whole lease. An older version cannot say so, and believes to have the name by the times of the
    records alone. So the holder gives way to it by these, or else both would go on.
    """
    if claim.by_time:
        return claim.time_ns - held.time_ns > held.duration_s * 1e9
    return 0 <= held.offset == claim.takes_over


class Holder(Generic[C]):
    """Who holds a name after the claims so far, from the first on that the topic has.

    A free name goes to the first that claims it. It keeps the name until it says that it leaves, or another one takes
    it over; see ``takes_over``. What others claim meanwhile gives them nothing. So of two that start at once exactly
    one gets it, of two that take over too, and no clock has a say in it.
    """

    __slots__ = ("_first", "_freed", "_known", "last", "rival")

    def __init__(self, first: int = -1) -> None:
        self._first = -1  # where the fold began
        self._freed = -1  # the last claim of a holder that left
        self._known = False  # whether the name is free while there is no holder
        self.last: C | None = None
        """The last claim of who has the name, or had it and left."""
        self.rival: C | None = None
        """While it is not known who has the name, of two that may have it the one that spoke before the last."""
        self.begin(first)

    @property
    def claim(self) -> C | None:
        """The holder's last claim, while there is a holder."""
        return None if self.last is None or self.last.leaves else self.last

    def begin(self, first: int) -> None:
        """The topic begins here, unless it is known already."""
        if self._first < 0 <= first:
            self._first, self._known = first, first <= ORIGIN

    def lose(self, first: int) -> None:
        """What lies below was removed unread, or this is another topic: anybody may have got the name meanwhile."""
        self._first, self._freed, self._known, self.rival = first, -1, False, None
        self.last = self.last and replace(self.last, offset=-1, since=-1)

    def settle(self, since: int) -> None:
        """It was decided that the one that spoke last has the name, by what it claimed there."""
        assert self.last is not None
        self.last, self.rival = replace(self.last, since=max(self.last.since, since)), None

    def hear(self, claim: C) -> None:
        """Take in the next claim on the topic."""
        held, term = self.claim, claim.term if claim.term < claim.offset else -1
        if held is not None:
            self.last = self._follow(held, claim, term)
        elif not claim.leaves or self.last is None or term >= 0 or claim.speaker == self.last.speaker:
            self.last = replace(claim, since=claim.offset if self._known else term)
        if self.claim is None and (held is not None or term >= 0):
            self._freed, self._known = claim.offset, True
        self._note_rival(held)

    def hear_older(self, claim: C, read_to: int = -1) -> None:
        """Take in a claim from before where the fold began. Of these the order does not matter. The one that made it
        made no other before ``read_to``; so who took over from it there has the name.
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
        """The holder's last claim once this one was made, where the beginning of the topic tells who had the name.

        Where something was removed two may come to different answers. So one that says since when it has the name is
        believed, unless the holder got it later. While it is not known at all who has it, everybody who speaks may be
        the one.
        """
        if claim.speaker == held.speaker:
            since = max(held.since, term)
            if claim.leaves and since < 0 and not claim.by_time:
                return held  # it was refused, by somebody who may be there
            over = held.takes_over if since < 0 else -1  # whether that was the holder is yet to be heard
            return replace(claim, since=since, takes_over=max(claim.takes_over, over))
        if takes_over(held, claim):
            return replace(claim, since=claim.offset)
        unknown = held.since < 0 and not claim.by_time and (term >= 0 or not claim.leaves)
        return replace(claim, since=term) if unknown or term > held.since else held

    def _note_rival(self, before: C | None) -> None:
        if self.claim is None or self.claim.since >= 0:
            self.rival = None
        elif before is not None and before.speaker != self.claim.speaker:
            self.rival = before


class LeaseClock:
    """The time in which a holder could be heard: an observer's monotonic clock, of which no gap counts in full.

    An observer that was suspended, or whose log stood still, has heard nobody meanwhile, however long it was; what was
    said waits to be read. So the time between two looks counts up to a gap that the observer names.
    """

    def __init__(self) -> None:
        self.now_s = 0.0
        """The seconds that count, so far."""
        self._looked_s: float | None = None

    def look(self, mono_s: float, gap_s: float = 0.0) -> float:
        """The observer looks now; of what passed since its last look at most ``gap_s`` counts."""
        passed_s = mono_s - self._looked_s if self._looked_s is not None else 0.0
        self.now_s, self._looked_s = self.now_s + min(max(passed_s, 0.0), gap_s), mono_s
        return self.now_s
