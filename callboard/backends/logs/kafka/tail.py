"""Waits for a topic's next record: one long poll shared by all waiters."""

import asyncio

from callboard.backends.logs.kafka.client.cluster import Cluster
from callboard.backends.logs.kafka.reader import FETCH_BYTES, Reader
from callboard.backends.logs.wake_up import WakeUp
from callboard.errors import LogUnavailable, OffsetOutOfRange
from callboard.logger import get_logger

POLL_MS = 500
"""How long the broker may hold a poll when nothing comes; at most half of the request timeout."""

LINGER_S = 5.0
"""How long polling continues without a waiter: followers wait again soon, after they have read."""

QUIET_S = 20.0
"""After this long without a record, the watchdog asks another broker for the leader: a broker cut off from the
cluster keeps answering, but will never have new records."""


class Tail:
    """The end of one topic. The records of a poll are kept for the read that follows the wake-up."""

    def __init__(self, name: str, cluster: Cluster, reader: Reader) -> None:
        self._name, self._cluster, self._reader = name, cluster, reader
        self._moved = WakeUp()
        self._task: asyncio.Task[None] | None = None
        self._since = -1  # the polls see records from here on; -1 until they have begun
        self._newest = -1
        self._error: Exception | None = None
        self._waiting = 0
        self._closed = False

    async def wait(self, start: int, timeout_s: float) -> bool:
        """See ``Log.wait``."""
        if timeout_s <= 0:
            return await self._reader.holds(self._name, start)
        self._waiting += 1
        try:
            async with asyncio.timeout(timeout_s):
                return await self._wait(start)
        except TimeoutError:
            return False
        except LogUnavailable:
            if self._closed:
                return False
            raise
        finally:
            self._waiting -= 1

    async def close(self) -> None:
        """Stop polling; waits return False."""
        self._closed = True
        self._moved.ring()
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task})

    async def _wait(self, start: int) -> bool:
        looked: asyncio.Task[None] | None = None
        while not self._closed:
            if self._task is None or self._task.done():
                self._since, self._newest, self._error = -1, -1, None
                self._task = asyncio.create_task(self._poll(), name=f"kafka tail {self._name}")
            ring = self._moved.next_ring()
            if start <= self._newest:
                return True
            if looked is not self._task and start < self._since:
                looked = self._task  # below its polls, look only once: nothing new appears there
                if await self._reader.holds(self._name, start):
                    return True
            await asyncio.wait({ring})
            if self._error is not None:
                raise self._error
        return False

    async def _poll(self) -> None:
        try:
            topic = await self._cluster.find(self._name)
            position = self._since = (await self._reader.bounds(topic)).end
            self._moved.ring()
            loop, hold_ms = asyncio.get_running_loop(), min(POLL_MS, self._cluster.timeout_ms // 2)
            wanted = news = loop.time()
            while loop.time() - wanted < LINGER_S:
                try:
                    chunk, _, _ = await self._reader.fetch(topic, position, FETCH_BYTES, hold_ms, f"tail {self._name}")
                except OffsetOutOfRange as error:  # trimmed under the tail
                    position = error.first if position < error.first else error.end
                    continue
                if (newest := chunk.newest()) >= 0:
                    self._reader.keep(topic, position, chunk)
                    self._newest, news = newest, loop.time()
                    self._moved.ring()
                position = chunk.next
                if self._waiting:
                    wanted = loop.time()
                if loop.time() - news > QUIET_S:
                    self._cluster.forget(self._name)
                    news = loop.time()
        except Exception as error:  # noqa: BLE001 - every error is passed on to the waiters
            self._error = error
            get_logger().warning("tail.failed", topic=self._name, error=str(error))
            self._moved.ring()
