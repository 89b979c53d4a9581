"""How far the named listeners are: what they have stored on their topic, and where each goes on."""

from collections.abc import Callable, Iterator

from callboard.backends.log import Bounds, Capability, Log, Retention
from callboard.backends.logs.walk import between
from callboard.messages.events.event_messages import (
    LISTENER_MESSAGES,
    ListenerMark,
    ListenersMessage,
    check_listeners,
)
from callboard.messages.headers import new_record
from callboard.messages.reading import understood
from callboard.messages.record import Record

SUMMARY_EVERY = 1000
"""Records that one summary replaces: a start reads a few times as many at most."""

MARKS_MAX = 500
"""In one record."""


def later(known: ListenerMark | None, said: ListenerMark) -> ListenerMark:
    """The mark that counts after both, said in this order. Of two processes with one name, the one that is ahead
    counts: what it has passed was handled, by itself or by the one whose mark it started from.
    """
    if known is None or known.removed or said.removed or known.log_id != said.log_id or said.next >= known.next:
        return said
    return known


def beginning(mark: ListenerMark, log_id: str, bounds: Bounds) -> tuple[int, str]:
    """Where a listener with this mark goes on, and what is wrong, if anything is. In doubt it sees events again."""
    if mark.log_id != log_id:
        return bounds.first, "its topic was replaced; it goes on with the first event of the new one"
    if mark.next > bounds.end:
        return bounds.first, f"its topic has lost its end, from {bounds.end} to {mark.next}; it begins again"
    if mark.next < bounds.first:
        return bounds.first, f"events from {mark.next} to {bounds.first - 1} were removed before it had handled them"
    return mark.next, ""


class Marks:
    """The marks of all listeners, as far as they were read."""

    def __init__(self, log: Log, topic: str, now_ns: Callable[[], int], new_id: Callable[[], str]) -> None:
        self._log, self.topic, self._now_ns, self._new_id = log, topic, now_ns, new_id
        self._log_id, self._next = "", 0
        self._stored = 0
        self.by_name: dict[str, ListenerMark] = {}

    async def read(self) -> Bounds:
        """Read on to the end. Raises ``TopicMissing`` if no listener had a name yet, and ``SchemaTooNew``."""
        log_id, bounds = await self._log.identity(self.topic), await self._log.bounds(self.topic)
        if log_id != self._log_id:
            self._log_id, self._next = log_id, 0
            self.by_name.clear()
        async for record in between(self._log, self.topic, max(self._next, bounds.first), bounds.end):
            self.see(record)
        self._next = bounds.end
        return bounds

    def see(self, record: Record) -> None:
        """Take in the next record."""
        said = understood(record, LISTENER_MESSAGES, check_listeners)
        for mark in said.marks if said is not None else ():
            self.by_name[mark.name] = later(self.by_name.get(mark.name), mark)

    async def store(self, mark: ListenerMark) -> None:
        """Append the mark; once in a while, also a summary of all."""
        await self._append((mark,))
        self._stored += 1
        if self._stored % SUMMARY_EVERY == 0:
            await self.tidy()

    async def tidy(self) -> None:
        """Replace the records by a summary, if there are many."""
        bounds = await self.read()
        if bounds.end - bounds.first > SUMMARY_EVERY:
            await self._append(tuple(self.kept()))
            if Capability.TRIM in self._log.capabilities:
                await self._log.trim(self.topic, Retention(below_offset=bounds.end, log_id=self._log_id))

    def kept(self) -> Iterator[ListenerMark]:
        """The marks of listeners that were not removed."""
        return (mark for mark in self.by_name.values() if not mark.removed)

    async def _append(self, marks: tuple[ListenerMark, ...]) -> None:
        messages = [ListenersMessage(marks=marks[at : at + MARKS_MAX]) for at in range(0, len(marks), MARKS_MAX)]
        await self._log.append(self.topic, [
            new_record(each, record_id=self._new_id(), time_ns=self._now_ns(), producer="") for each in messages
        ])  # fmt: skip
