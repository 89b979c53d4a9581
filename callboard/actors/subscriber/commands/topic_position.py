"""How much of the command topic was heard: by that an older copy of the topic is told, and what is new on it."""

from collections.abc import Iterator

from callboard.actors.core.effects import TopicBounds
from callboard.actors.core.follower import Delivered, StartPolicy
from callboard.messages.distribution.mailbox import CommandPassedOver, CommandsWanted
from callboard.messages.record import Record


class CommandsHeard:
    """The last order that took effect, or was passed on since, and when the log took it.

    A log that lost its end and went on has the same identity, and may have grown past that order again. So reading
    begins at it, and goes on behind it only if it is there. Otherwise what the copy has from that time or before
    counts as heard, and what came later is new. As long as no time is known, all that it has counts as heard.
    """

    def __init__(self, wanted: CommandsWanted) -> None:
        self._log_id = wanted.log_id
        self._last = wanted.offset, wanted.time_ns
        self._time_ns = wanted.time_ns
        self._compared = not wanted.time_ns
        self._sifting = False
        self._heard_until: tuple[int, int] | None = None  # offset and time of the last one on the copy that was heard

    @property
    def start(self) -> StartPolicy:
        """At the last order, if it is there to be compared, otherwise behind it; in another log at the first one."""
        last = self._last[0]

        def place(bounds: TopicBounds) -> int:
            if bounds.log_id != self._log_id:
                return bounds.first
            return last if not self._compared and bounds.first <= last < bounds.end else last + 1

        return StartPolicy(place, self._log_id)

    def hear(self, record: Record) -> None:
        """This one is passed on."""
        self._time_ns = record.time_ns

    def is_elsewhere(self, news: Delivered, log_id: str) -> bool:
        """Whether the last order is not where it was: an older copy is in place, to be read from its first record."""
        last = self._last[0]
        if self._compared or news.next <= last:
            return False
        self._compared = True
        expected = log_id == self._log_id and news.start <= last
        self._sifting = expected and not any(self._is_last(record, log_id) for record in news.records)
        return self._sifting

    def set_back(self, bounds: TopicBounds) -> CommandPassedOver | None:
        """The topic ends before the last order: it is to be read from its first record, which is not told of if that
        does for now.
        """
        self._compared = True
        if self._time_ns:
            self._sifting = True
            return None
        return self._passed_over(bounds.log_id, bounds.end - 1, 0, "give orders of the meantime anew")

    def sift(self, news: Delivered, log_id: str, *, all_read: bool) -> Iterator[Record | CommandPassedOver]:
        """What is new of these records. On an older copy, before it, how much of the copy is not."""
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
        return self._passed_over(log_id, offset, time_ns, "orders that came to it since are obeyed")

    def _passed_over(self, log_id: str, offset: int, time_ns: int, then: str) -> CommandPassedOver:
        reason = (
            f"an older copy of the command topic is in place: it lacks the order that was heard at offset "
            f"{self._last[0]}, and what it has up to offset {offset} counts as heard; {then}"
        )
        return CommandPassedOver(log_id=log_id, offset=offset, reason=reason, set_back=True, time_ns=time_ns)
