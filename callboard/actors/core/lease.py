"""Who holds a subscriber's name: a fold over the announcements, so that everybody comes to the same answer."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from callboard.errors import SchemaTooNew, Undecodable
from callboard.messages.distribution.topic_messages import DiscoveryMessage, ForgottenMessage, State
from callboard.messages.headers import open_record
from callboard.messages.record import Record
from callboard.messages.repeated import original_of

INTERVALS = 3
"""A claim outlives so many of the holder's announcements that are late or lost, however rarely it announces itself."""

LEASE_S_MIN, LEASE_S_MAX = 1.0, 1800.0
"""What an announcement may say: nobody can keep a name for longer than that with one word."""

ORIGIN = 1
"""The first offset of a topic that nothing was removed from, at most."""

TTL_S = 30.0
"""How long a claim of an older version lives, unless it announces itself rarely; it does not say so itself."""

HEARD: tuple[type[DiscoveryMessage | ForgottenMessage], ...] = (DiscoveryMessage, ForgottenMessage)

@dataclass(frozen=True, slots=True)
class Word:
    """An announcement: where, and by its record when, it was said first. ``since`` is the offset of what got it the
    name, -1 if the topic does not tell that it has it.
    """

    said: DiscoveryMessage
    offset: int
    time_ns: int
    since: int = -1


def lease_s(said: DiscoveryMessage, ttl_s: float = TTL_S) -> float:
    """How long the name is the speaker's after this word, by everybody's own monotonic clock; ``ttl_s`` is what a word
    without a lease is taken to mean.
    """
    wanted_s = said.lease_ms / 1000 if said.lease_ms else max(ttl_s, INTERVALS * said.announce_interval_s)
    return min(max(wanted_s, LEASE_S_MIN), LEASE_S_MAX)


def same(one: DiscoveryMessage, other: DiscoveryMessage) -> bool:
    """Whether both are of the same subscriber, which may have started again.

    A copied repository brings the instance along, but it is in another place. In one place there is only one at a
    time, for a repository is locked while it is open.
    """
    return one.subscriber_instance == other.subscriber_instance and one.place == other.place


def takes_over(held: Word, word: Word, ttl_s: float = TTL_S) -> bool:
    """Whether the word of somebody else ends the holder's claim: it names the holder's very last word, as one that was
    watched in vain for a whole lease. An older version cannot say so, and believes to have the name by the times of the
    records alone. So the holder gives way to it by these, or else both would go on.
    """
    if word.said.lease_ms:
        return word.said.takes_over == held.offset
    return word.time_ns - held.time_ns > lease_s(held.said, ttl_s) * 1e9


def follow(held: Word | None, word: Word, ttl_s: float, first: int) -> Word | None:
    """The last word of the name's holder once this one was said, where the beginning of the topic tells who had it.

    What was said below ``first`` was removed: who got the name there is believed, unless the holder got it later. While
    it is not known at all who has it, everybody who speaks may be the one.
    """
    said = word.said
    term, leaves = said.term if said.term < word.offset else -1, said.state is State.STOPPED
    if held is None:
        since = word.offset
    elif same(held.said, said):
        since = max(held.since, term)
        if leaves and since < 0 and said.lease_ms:
            return held  # it was refused, by somebody who may be there
    elif takes_over(held, word, ttl_s):
        since = word.offset
    elif held.since < term < first or (said.lease_ms and held.since < 0 and (term >= 0 or not leaves)):
        since = term
    else:
        return held
    return None if leaves else replace(word, since=since)


class Holder:
    """Who holds a name after the announcements so far, from the first on that the topic has.

    A free name goes to the first that announces itself. It keeps the name until it says that it has stopped, or another
    one takes it over; see ``takes_over``. What others announce under the name meanwhile gives them nothing. So of two
    that start at once exactly one gets it, of two that take over too, and no clock has a say in it.
    """

    def __init__(self, name: str, ttl_s: float = TTL_S, first: int = -1) -> None:
        self._name, self._needle = name, name.encode()
        self._ttl_s = ttl_s
        self._first = -1  # where the fold began
        self._freed = -1  # the last word of a holder that said goodbye, or the beginning of a topic that has it all
        self.begin(first)
        self.word: Word | None = None
        """The holder's last word, while there is a holder."""
        self.rival: Word | None = None
        """While it is not known who has the name, of two that may have it the one that spoke before the last."""
        self.forgotten = -1
        """Where somebody said last that the subscriber is gone for good. By itself this frees nothing."""

    @property
    def last(self) -> DiscoveryMessage | None:
        """What it says."""
        return self.word.said if self.word is not None else None

    def begin(self, first: int) -> None:
        """The topic begins here, unless it is known already."""
        if self._first < 0 <= first:
            self._first, self._freed = first, 0 if first <= ORIGIN else -1

    def settle(self, since: int) -> None:
        """It was decided that the one that spoke last has the name, by what it said there."""
        assert self.word is not None
        self.word, self.rival = replace(self.word, since=max(self.word.since, since)), None

    def fold(self, records: Iterable[Record]) -> DiscoveryMessage | None:
        """Take in what follows on the discovery topic; returns the last word of whoever holds the name then."""
        for record in records:
            self.begin(record.offset)
            if self._needle in record.payload and (said := _event(record)) and said.subscriber == self._name:
                self._hear(record, said)
        return self.last

    def _hear(self, record: Record, said: DiscoveryMessage | ForgottenMessage) -> None:
        original, before = original_of(record), self.word
        if isinstance(said, ForgottenMessage):
            self.forgotten = max(self.forgotten, original.offset if original else record.offset)
        elif original is None:
            self._hear_now(record, said)
        elif self._freed < original.offset < self._first and said.state is not State.STOPPED:
            word = Word(said, original.offset, original.time_ns, said.term)
            if before is not None and said.lease_ms and takes_over(before, word):
                word = replace(word, since=word.offset)
            if before is None or word.since > before.since:
                self.word = word  # the holder's, which was removed before the topic was read
            elif before.since < 0 and said.lease_ms and not same(before.said, said):
                self.rival = word
        if self.word is None or self.word.since >= 0:
            self.rival = None
        elif before is not None and not same(before.said, self.word.said):
            self.rival = before

    def _hear_now(self, record: Record, said: DiscoveryMessage) -> None:
        before, word = self.word, Word(said, record.offset, record.time_ns)
        if before is None and self._freed < 0:
            self.word = None if said.state is State.STOPPED else replace(word, since=said.term)
        else:
            self.word = follow(before, word, self._ttl_s, self._first)
        if self.word is None and (before is not None or said.term >= 0):
            self._freed = record.offset


def _event(record: Record) -> DiscoveryMessage | ForgottenMessage | None:
    if record.header("type") not in ("DiscoveryMessage", "1", "ForgottenMessage"):
        return None
    try:
        return open_record(record, HEARD)
    except (Undecodable, SchemaTooNew):
        return None  # what is not understood cannot be taken for a rival
