"""Listens to distributed events."""

import asyncio
import inspect
from collections import OrderedDict, deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from random import Random
from types import TracebackType
from typing import Any, Self

from callboard.actors.core.backoff import Backoff
from callboard.board.context import BoardContext
from callboard.board.events.distributed_event import DistributedEvent, opened
from callboard.board.events.marks import Marks, beginning
from callboard.errors import LogUnavailable, OffsetOutOfRange, TopicMissing
from callboard.logger import get_logger
from callboard.messages.event import replaced
from callboard.messages.events.event_messages import ListenerMark
from callboard.messages.record import Record
from callboard.messages.topics import broadcast_topic, listener_topic
from callboard.telemetry.spans import consuming

STORE_S = 1.0
"""Between two marks of a listener: a crash repeats what it has handled since the last one."""

WAIT_S = 10.0
"""Seconds of one wait for more events; then it waits again."""

RETRY_S = 1.0
REPEATS_MAX = 10_000
"""Ids remembered: an append whose outcome is unknown is repeated at once."""

REASON_MAX = 500
RETRIES = 10
TIMEOUT_S = 60.0
FAILED = Backoff(first_s=1.0, max_s=300.0)
"""Between attempts of a function to handle an event: ten of them take about a quarter of an hour."""

Handler = Callable[[DistributedEvent], Any]
"""A function for events, or a coroutine function."""

_JITTER = Random()  # noqa: S311 - spreads attempts, no secret


class Listener:
    """Iterates over events, from the start of ``async with`` until the board closes.

    An event counts as handled when the next one is asked for, or when the body of ``async with`` ends without an error.
    """

    def __init__(self, board: BoardContext, topics: tuple[str, ...], name: str, *, oldest: bool) -> None:
        self._board, self._log, self._oldest = board, board.log, oldest
        self._topic = broadcast_topic(board.settings.prefix)
        self._marks = Marks(board.log, listener_topic(board.settings.prefix), board.now_ns, board.new_id)
        self._mark = ListenerMark(name=name, topics=topics)
        self._stored = self._mark
        self._stored_s = 0.0
        self._lost_place = True
        self._found = deque[Record]()
        self._given = -1
        self._ids = OrderedDict[str, None]()

    @property
    def lost(self) -> int:
        """How many offsets were trimmed before this listener had handled what was there."""
        return self._mark.lost

    async def __aenter__(self) -> Self:
        self._found.clear()
        self._given, self._threads = -1, ThreadPoolExecutor(1, "listener")
        await self._log.ensure(self._topic)
        log_id, bounds = await self._log.identity(self._topic), await self._log.bounds(self._topic)
        mark = replaced(self._mark, log_id=log_id, next=bounds.first if self._oldest else bounds.end)
        if mark.name:
            await self._log.ensure(self._marks.topic)
            await self._marks.tidy()
            known = self._marks.by_name.get(mark.name)
            mark = mark if known is None or known.removed else replaced(known, topics=mark.topics)
        self._mark = mark
        await self._find_place()
        await self._store(must=True)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self._handled()
        self._threads.shutdown(wait=False, cancel_futures=True)
        await self._store()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> DistributedEvent:
        self._handled()
        while self._board.resources.holds(self._log):
            while self._found:
                record = self._found.popleft()
                self._given = record.offset
                if (event := opened(self._board, record, self._mark.topics, self._mark.log_id)) and self._is_new(event):
                    return event
                self._handled()
            await self._more()
        raise StopAsyncIteration

    async def run(
        self,
        handler: Handler,
        *,
        retries: int = RETRIES,
        timeout_s: float = TIMEOUT_S,
        backoff: Backoff = FAILED,
    ) -> None:
        """Call the function for each event, one after another, until the board closes.

        If it raises, the event is tried again after a while, and at last given up, which the log and ``callboard
        doctor`` say. Later events wait meanwhile; other listeners do not.

        Args:
            handler: gets the event. If it is no coroutine function, it runs in a thread of this listener.
            retries: how often an event is tried again; -1 for ever.
            timeout_s: seconds that a coroutine may take before it is cancelled, and has failed. A thread cannot be
                cancelled: it is waited for, and said to be slow.
            backoff: how long the next attempt waits.
        """
        async for event in self:
            attempt, given, self._given = 0, self._given, -1  # not handled if this is cancelled
            while reason := await self._failure(handler, event, timeout_s):
                attempt += 1
                if 0 <= retries < attempt:
                    get_logger().error("event.given_up", **self._told(event, reason))
                    self._mark = replaced(self._mark, given_up=self._mark.given_up + 1, reason=reason)
                    break
                get_logger().warning("event.failed", **self._told(event, reason), attempt=attempt)
                self._mark = replaced(self._mark, attempts=attempt, reason=reason)
                await (self._store() if attempt == 1 else self._store_if_due())
                await asyncio.sleep(backoff.delay_s(attempt, _JITTER))
            self._given = given

    async def _failure(self, handler: Handler, event: DistributedEvent, limit_s: float) -> str:
        """Why the function failed; empty if it did not."""
        about = {"messaging.message.id": event.id, "messaging.consumer.group.name": self._mark.name}
        try:
            with consuming("handle", [(event.topic, event.traceparent, about)]):
                await self._call(handler, event, limit_s)
        except TimeoutError as error:
            return str(error) or f"it took longer than {limit_s:g} s"
        except Exception as error:  # noqa: BLE001 - a handler may raise anything
            return f"{type(error).__name__}: {error}"[:REASON_MAX].encode(errors="replace").decode()
        return ""

    async def _call(self, handler: Handler, event: DistributedEvent, limit_s: float) -> None:
        if not inspect.iscoroutinefunction(handler):
            call = asyncio.get_running_loop().run_in_executor(self._threads, copy_context().run, handler, event)
            if not (await asyncio.wait({call}, timeout=limit_s))[0]:
                reason = f"the function has been running for {limit_s:g} s"
                get_logger().warning("event.slow", **self._told(event, reason))
            result = await call
        else:
            result = handler(event)
        if inspect.isawaitable(result):
            async with asyncio.timeout(limit_s):
                await result

    def _told(self, event: DistributedEvent, reason: str) -> dict[str, str]:
        """The fields of a log line about the event."""
        return {
            "listener": self._mark.name, "topic": event.topic, "id": event.id, "cursor": event.cursor, "reason": reason,
        }  # fmt: skip

    # The place.

    def _handled(self) -> None:
        """Everything up to the last event that was given is handled."""
        if self._given >= 0:
            self._mark = replaced(self._mark, next=self._given + 1, attempts=0)
            self._given = -1

    def _is_new(self, event: DistributedEvent) -> bool:
        if event.id in self._ids:
            return False
        self._ids[event.id] = None
        if len(self._ids) > REPEATS_MAX:
            self._ids.popitem(last=False)
        return True

    async def _more(self) -> None:
        try:
            if self._lost_place:
                await self._find_place()
            await self._store_if_due()
            found = await self._log.read(self._topic, self._mark.next)
            if await self._log.identity(self._topic) != self._mark.log_id:
                self._lost_place = True
            elif found:
                self._found.extend(found)
            else:
                behind = self._mark != self._stored
                await self._log.wait(self._topic, self._mark.next, STORE_S if behind else WAIT_S)
        except (OffsetOutOfRange, TopicMissing):
            self._lost_place = True
        except LogUnavailable as error:
            if self._board.resources.holds(self._log):
                get_logger().warning("listener.not_read", listener=self._mark.name, reason=str(error))
                await asyncio.sleep(RETRY_S)

    async def _find_place(self) -> None:
        """Go on where the mark says, or say why that is not possible."""
        await self._log.ensure(self._topic)
        mark, log_id, bounds = self._mark, await self._log.identity(self._topic), await self._log.bounds(self._topic)
        start, problem = beginning(mark, log_id, bounds)
        if problem:
            get_logger().error("listener.lost_its_place", listener=mark.name, reason=problem, goes_on_at=start)
        lost = start - mark.next if log_id == mark.log_id and start > mark.next else 0
        self._mark = replaced(mark, log_id=log_id, next=start, lost=mark.lost + lost)
        self._lost_place = False

    async def _store_if_due(self) -> None:
        if asyncio.get_running_loop().time() - self._stored_s >= STORE_S:
            await self._store()

    async def _store(self, *, must: bool = False) -> None:
        """Store the mark, if it has changed; if the log fails, the next call does, unless this one must."""
        if (mark := self._mark) == self._stored:
            return
        self._stored_s = asyncio.get_running_loop().time()
        try:
            if mark.name:
                await self._marks.store(replaced(mark, time_ms=self._board.now_ns() // 1_000_000))
            self._stored = mark
        except LogUnavailable as error:
            if must:
                raise
            get_logger().warning("listener.not_stored", listener=mark.name, reason=str(error))
