"""How much of the command topic was heard, which shows an older copy of the topic, and what is new on it."""

from collections.abc import Iterator

from callboard.actors.core.effects import TopicBounds
from callboard.actors.core.follower import Delivered, StartPolicy
from callboard.messages.distribution.mailbox import CommandPassedOver, CommandsWanted
from callboard.messages.record import Record


class CommandsHeard:
    """The last command that was handled, or forwarded since, with its offset and the time of its record.

    A log that lost its end and grew again keeps its identity, and may reach past that command. So reading begins at
    the command, and continues after it only if it is still there. If not, the topic is an older copy: its records up to
    that time count as heard, and later ones are new. If the time is not known, all its records count as heard.
    """

    def __init__(self, wanted: CommandsWanted) -> None:
        self._log_id = wanted.log_id
        self._last = wanted.offset, wanted.time_ns
        self._time_ns = wanted.time_ns
        self._compared = not wanted.time_ns
        self._sifting = False
        self._heard_until: tuple[int, int] | None = None  # offset and time of the last record that counts as heard

    @property
    def start(self) -> StartPolicy:
        """At the last command if it can be compared, otherwise after it; in another log at the first record."""
        last = self._last[0]

        def place(bounds: TopicBounds) -> int:
            if bounds.log_id != self._log_id:
                return bounds.first
            return last if not self._compared and bounds.first <= last < bounds.end else last + 1

        return StartPolicy(place, self._log_id)

    def hear(self, record: Record) -> None:
        """The record is forwarded."""
        self._time_ns = record.time_ns

    def is_elsewhere(self, news: Delivered, log_id: str) -> bool:
        """Whether the last command is not at its offset: this is an older copy, to be read from its first record."""
        last = self._last[0]
        if self._compared or news.next <= last:
            return False
        self._compared = True
        expected = log_id == self._log_id and news.start <= last
        self._sifting = expected and not any(self._is_last(record, log_id) for record in news.records)
        return self._sifting

    def set_back(self, bounds: TopicBounds) -> CommandPassedOver | None:
        """The topic ends before the last command. Returns what to report now; None if its records are sifted first."""
        self._compared = True
        if self._time_ns:
            self._sifting = True
            return None
        return self._passed_over(bounds.log_id, bounds.end - 1, 0, "send commands given since then again")

    def sift(self, news: Delivered, log_id: str, *, all_read: bool) -> Iterator[Record | CommandPassedOver]:
        """The new ones among the records. On an older copy, first a ``CommandPassedOver`` for those that are not."""
        for record in news.records:
            if self._sifting and record.time_ns <= self._time_ns:
                self._heard_until = record.offset, record.time_ns
                continue
            if self._sifting:
                yield self._end_of_old(news, log_id)
            if not self._is_last(record, log_id):
                yield record
        if self._sifting and all_read:
            yield self._end_of_old(news, log_id)

    def _is_last(self, record: Record, log_id: str) -> bool:
        return log_id == self._log_id and (record.offset, record.time_ns) == self._last

    def _end_of_old(self, news: Delivered, log_id: str) -> CommandPassedOver:
        self._sifting = False
        offset, time_ns = self._heard_until or (news.start - 1, 0)
        return self._passed_over(log_id, offset, time_ns, "later commands are carried out")

    def _passed_over(self, log_id: str, offset: int, time_ns: int, then: str) -> CommandPassedOver:
        reason = (
            f"an older copy of the command topic is in place: it lacks the command heard at offset {self._last[0]}; "
            f"its commands up to offset {offset} count as heard; {then}"
        )
        return CommandPassedOver(log_id=log_id, offset=offset, reason=reason, set_back=True, time_ns=time_ns)
