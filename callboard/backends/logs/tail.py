"""One reader per process and topic, fanned out in memory."""

import asyncio
from collections import defaultdict

from callboard.backends.log import READ_BYTES_MAX, READ_RECORDS_MAX, Log, Retention
from callboard.backends.logs.passing_log import PassingLog
from callboard.backends.logs.recent import Recent
from callboard.backends.logs.wake_up import WakeUp
from callboard.errors import CallboardError, LogUnavailable, OffsetOutOfRange
from callboard.messages.record import Record

TAIL_BYTES_MAX = 32 << 20
"""Limit of the recent records of one topic."""


class _Tail:
    """The position of a topic's most advanced reader, and the records that it read last."""

    def __init__(self, max_bytes: int) -> None:
        self.recent = Recent(max_bytes)
        self.identity = ""
        self.looking = asyncio.Lock()  # for the identity
        self.looks = self.answered = 0  # how many were started, and the last one with an outcome
        self.failure: CallboardError | None = None  # that outcome, if it is not an identity
        self.reading = asyncio.Lock()
        self.followed = False
        self.moved = WakeUp()


class SharedTail(PassingLog):
    """A log that reads each new record of a topic once, however many readers follow it, and waits once.

    Reads near the end are answered from memory; older ones go to the log below. A trim through this object
    applies at once; after one by another process, recent records may be served until they leave the memory.

    Args:
        log: the log below, owned by this object from now on.
        max_bytes: limit of the recent records of one topic.
    """

    def __init__(self, log: Log, max_bytes: int = TAIL_BYTES_MAX) -> None:
        super().__init__(log)
        self._tails: defaultdict[str, _Tail] = defaultdict(lambda: _Tail(max_bytes))
        self._closed = False

    @property
    def below(self) -> Log:
        """The log below, for large reads that no other reader shares."""
        return self._log

    async def read(
        self,
        topic: str,
        start: int,
        max_records: int = READ_RECORDS_MAX,
        max_bytes: int = READ_BYTES_MAX,
    ) -> list[Record]:
        """See ``Log``."""
        tail = self._tails[topic]
        if start >= tail.recent.next:
            await self._advance(topic, tail, start)
        if tail.recent.covers(start):
            return tail.recent.slice(start, max_records, max_bytes)
        return await self._log.read(topic, start, max_records, max_bytes)

    async def wait(self, topic: str, start: int, timeout_s: float) -> bool:
        """See ``Log``."""
        tail = self._tails[topic]
        loop = asyncio.get_running_loop()
        deadline = loop.time() + timeout_s
        was_closed = self._closed
        try:
            if start > tail.recent.next:
                await self._advance(topic, tail, start)
        except OffsetOutOfRange:
            return await self._log.wait(topic, start, timeout_s)
        except LogUnavailable:
            if was_closed or not self._closed:
                raise
            return False  # closed during the check, or during the wait
        while tail.recent.covers(start) and not tail.recent.holds(start):
            left_s = deadline - loop.time()
            if self._closed:
                return False
            if left_s <= 0:
                break
            if tail.followed:
                await tail.moved.pause(left_s)
            elif not await self._follow(topic, tail, left_s):
                return False
        return tail.recent.holds(start) or await self._log.wait(topic, start, max(0, deadline - loop.time()))

    async def trim(self, topic: str, retention: Retention) -> int:
        """See ``Log``."""
        first = await self._log.trim(topic, retention)
        self._tails[topic].recent.trimmed(first)
        return first

    async def identity(self, topic: str) -> str:
        """See ``Log``; when it changes, the records held of the former topic are dropped.

        Many callers ask at once, whenever a record arrives. They share an answer, or a failure, of a request made after
        they asked.
        """
        tail = self._tails[topic]
        before = tail.looks
        async with tail.looking:
            if tail.answered <= before:
                tail.looks += 1
                await self._look(topic, tail)
                tail.answered = tail.looks
            if tail.failure is not None:
                raise tail.failure
            return tail.identity

    async def close(self) -> None:
        """See ``Log``; closes the log below."""
        self._closed = True
        await super().close()

    async def _look(self, topic: str, tail: _Tail) -> None:
        try:
            identity, tail.failure = await self._log.identity(topic), None
        except CallboardError as error:
            tail.failure = error
            return
        if tail.identity not in ("", identity) and self._tails.get(topic) is tail:
            del self._tails[topic]
            self._tails[topic].identity = identity
        tail.identity = identity

    async def _advance(self, topic: str, tail: _Tail, start: int) -> None:
        """Read the next records once for all readers; the most advanced one determines where."""
        async with tail.reading:
            if start < tail.recent.next:
                return  # another reader just did
            tail.recent.extend(start, await self._log.read(topic, start))
        if tail.recent.holds(start):
            tail.moved.ring()

    async def _follow(self, topic: str, tail: _Tail, timeout_s: float) -> bool:
        """Wait on behalf of all waiters; one that is woken without news takes over."""
        tail.followed = True
        try:
            came = await self._log.wait(topic, tail.recent.next, timeout_s)
            if came:
                await self._advance(topic, tail, tail.recent.next)
            return came
        except OffsetOutOfRange as error:  # trimmed under the tail: waiters there go to the log itself
            tail.recent.extend(error.end, [])
            return True
        finally:
            tail.followed = False
            tail.moved.ring()
