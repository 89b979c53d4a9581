"""Every subscriber that the discovery topic tells of, with its last word: what a retention must know of them all."""

from dataclasses import dataclass

from callboard.actors.publisher.fleet import FleetSettings
from callboard.actors.publisher.liveness import AppendTimes, Heard
from callboard.backends.log import Log
from callboard.errors import OffsetOutOfRange, SchemaTooNew, Undecodable
from callboard.messages.distribution import DiscoveryMessage, ForgottenMessage, LogMessage, ThrottledMessage
from callboard.messages.headers import open_record
from callboard.messages.record import Record

GONE_AFTER_S = FleetSettings(topic="").gone_after_s
"""As the fleet has it: by then a name may pass to another instance."""


@dataclass(frozen=True, slots=True)
class LastWord:
    """The announcement that counts, and where it is on the topic."""

    heard: Heard
    offset: int

    @property
    def announcement(self) -> DiscoveryMessage:
        """What was said."""
        return self.heard.announcement


class RollCall:
    """Reads the whole topic once, and only what is new after that.

    The view of the fleet will not do: it knows nobody whose last word lies far back, and those are the ones that a
    retention endangers.
    """

    def __init__(self, topic: str) -> None:
        self._topic = topic
        self._log_id = ""
        self._next = -1
        self._times = AppendTimes()
        self.members: dict[str, LastWord] = {}
        self.problem = ""
        """Why it cannot be told who there is: a record of a newer version that may be an announcement."""

    async def catch_up(self, log: Log, now_ns: int) -> None:
        """Take in what was announced since the last time."""
        log_id = await log.identity(self._topic)
        if log_id != self._log_id:
            self._log_id, self._next = log_id, -1
            self.members.clear()
            self._times = AppendTimes()
            self.problem = ""
        first, end = await log.bounds(self._topic)
        self._next = max(self._next, first)
        while self._next < end:
            try:
                found = await log.read(self._topic, self._next)
            except OffsetOutOfRange as error:  # trimmed meanwhile
                if error.first <= self._next:
                    raise
                self._next = error.first
                continue
            for record in found:
                self._fold(record, self._times.take(record, now_ns))
            self._next = found[-1].offset + 1 if found else end

    def _fold(self, record: Record, seen_ns: int) -> None:
        try:
            event = open_record(record, (DiscoveryMessage, LogMessage, ForgottenMessage, ThrottledMessage))
        except SchemaTooNew as error:
            self.problem = f"{error}: it may be of a subscriber"
            return
        except Undecodable as error:
            if record.header("type") == DiscoveryMessage.__name__:
                self.problem = f"{error}: it may be of a subscriber"
            return
        if isinstance(event, ForgottenMessage):
            self.members.pop(event.subscriber, None)
        elif isinstance(event, DiscoveryMessage):
            heard = Heard(event, seen_ns, seen_ns / 1e9)
            known = self.members.get(event.subscriber)
            if known is None or known.heard.gives_way_to(heard, GONE_AFTER_S):
                self.members[event.subscriber] = LastWord(heard, record.offset)
