"""Announcements as claims to a subscriber's name."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Self

from callboard.actors.core.lease import NEVER, Claim, Holder
from callboard.errors import SchemaTooNew, Undecodable
from callboard.messages.distribution.topic_messages import ANNOUNCE_S_MAX, DiscoveryMessage, ForgottenMessage, State
from callboard.messages.headers import open_record
from callboard.messages.record import Record
from callboard.messages.repeated import original_of

INTERVALS = 3
"""A lease is at least this many announcement intervals: that many may be late or lost."""

LEASE_S_MIN, LEASE_S_MAX = 1.0, 1800.0
"""Bounds of a lease in seconds: no single announcement keeps a name for longer."""

TTL_S = 30.0
"""The lease, in seconds, of older versions, whose claims state none; longer if they announce themselves less often."""

HEARD: tuple[type[DiscoveryMessage | ForgottenMessage], ...] = (DiscoveryMessage, ForgottenMessage)


def lease_s(lease_ms: int, announce_interval_ms: int) -> float:
    """The lease, in seconds, of an announcement with these values."""
    rare_s = INTERVALS * min(announce_interval_ms / 1000, ANNOUNCE_S_MAX)
    wanted_s = lease_ms / 1000 if lease_ms else max(TTL_S, rare_s)
    return min(max(wanted_s, LEASE_S_MIN), LEASE_S_MAX)


def speaker(said: DiscoveryMessage) -> tuple[str, str]:
    """Who makes the announcement: an instance in a place. A copied repository has the same instance in another place.
    In one place there is only one at a time, since a repository is locked while open.
    """
    return said.subscriber_instance, said.place


@dataclass(frozen=True, slots=True, kw_only=True)
class Word(Claim):
    """An announcement as a claim, with the offset and time of its original record."""

    said: DiscoveryMessage

    @classmethod
    def of(cls, said: DiscoveryMessage, offset: int, time_ns: int, **more: Any) -> Self:
        """The claim that the announcement makes; ``more`` has the fields that a subclass adds."""
        return cls(
            said=said, speaker=speaker(said), offset=offset, time_ns=time_ns, takes_over=said.takes_over,
            duration_s=lease_s(said.lease_ms, said.announce_interval_ms), term=said.term,
            leaves=said.state is State.STOPPED, by_time=not said.lease_ms, **more,
        )  # fmt: skip


class NameHolder(Holder[Word]):
    """The holder of a subscriber's name, according to the discovery topic."""

    __slots__ = ("_name", "_needle", "forgotten")

    def __init__(self, name: str, first: int = NEVER) -> None:
        super().__init__(first)
        self._name, self._needle = name, name.encode()
        self.forgotten = -1
        """The offset at which the subscriber was last forgotten. This alone does not free the name."""

    def fold(self, records: Iterable[Record]) -> Word | None:
        """Fold the next records of the topic; return the holder's last announcement after them."""
        for record in records:
            if self._first < 0:
                self.begin(record.offset)
            if self._needle in record.payload and (said := _event(record)) and said.subscriber == self._name:
                original = original_of(record)
                if isinstance(said, ForgottenMessage):
                    self.forgotten = max(self.forgotten, original.offset if original else record.offset)
                elif original is None:
                    self.hear(Word.of(said, record.offset, record.time_ns))
                else:
                    self.hear_older(Word.of(said, original.offset, original.time_ns), original.read_to)
        return self.claim


def _event(record: Record) -> DiscoveryMessage | ForgottenMessage | None:
    if record.header("type") not in ("DiscoveryMessage", "1", "ForgottenMessage"):
        return None
    try:
        return open_record(record, HEARD)
    except (Undecodable, SchemaTooNew):
        return None  # an unreadable record is no rival
