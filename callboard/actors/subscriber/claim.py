"""Who holds a subscriber's name: a fold over the announcements, so that everybody comes to the same answer."""

from collections.abc import Iterable

from callboard.errors import SchemaTooNew, Undecodable
from callboard.messages.distribution import DiscoveryMessage, State
from callboard.messages.headers import open_record
from callboard.messages.record import Record
from callboard.messages.repeated import original_of

LOOKBACK = 8192
"""How many offsets before its own claim a subscriber looks at. The holder is found if it has announced itself in
there, and others have not done so in vain just before: at one announcement a second, enough for 100 subscribers."""

INTERVALS = 3
"""A claim outlives so many of the holder's announcements that are late or lost, however rarely it announces itself."""


def lifetime_s(announcement: DiscoveryMessage, ttl_s: float) -> float:
    """How long a claim holds after this announcement, by the times of the log."""
    return max(ttl_s, INTERVALS * announcement.announce_interval_ms / 1000)


def same(one: DiscoveryMessage, other: DiscoveryMessage) -> bool:
    """Whether both are of the same subscriber, which may have started again.

    A copied repository brings the instance along, but it is in another place. In one place there is only one at a
    time, for a repository is locked while it is open.
    """
    return one.subscriber_instance == other.subscriber_instance and one.place == other.place


class Holder:
    """Who holds a name after the announcements so far.

    A free name goes to the first that announces itself. It keeps the name until it says that it has stopped, or is
    silent for longer than its claim lives by the log's times; what others announce under the name meanwhile gives
    them nothing. So of two that start at once exactly one gets it, and nobody can take it from a subscriber that starts
    again in time.
    """

    def __init__(self, name: str, ttl_s: float) -> None:
        self._name = name
        self._ttl_s = ttl_s
        self._heard_ns = 0
        self.last: DiscoveryMessage | None = None
        """The holder's last word, while there is a holder."""

    def fold(self, records: Iterable[Record]) -> DiscoveryMessage | None:
        """Take in what follows on the discovery topic; returns the last word of whoever holds the name then."""
        for record in records:
            message = _announcement(record)
            if message is None or message.subscriber != self._name:
                continue
            original = original_of(record)
            if original is None:
                self._hear(message, record.time_ns)
            elif self.last is None:  # what came before it was removed; whatever is known is newer
                self._hear(message, original.time_ns)
        return self.last

    def _hear(self, message: DiscoveryMessage, time_ns: int) -> None:
        held = self.last
        if held is not None and time_ns - self._heard_ns > lifetime_s(held, self._ttl_s) * 1e9:
            held = None
        if held is None or same(held, message):
            held = None if message.state is State.STOPPED else message
            self._heard_ns = time_ns
        self.last = held


def _announcement(record: Record) -> DiscoveryMessage | None:
    if record.header("type") not in ("DiscoveryMessage", "1"):
        return None
    try:
        return open_record(record, DiscoveryMessage)
    except (Undecodable, SchemaTooNew):
        return None  # what is not understood cannot be taken for a rival
