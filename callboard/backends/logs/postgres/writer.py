"""Appends in groups: one statement commits everything that arrived during the one before, without lingering."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple

from callboard.backends.logs.postgres.append import Row

GROUP_RECORDS = 1000
GROUP_BYTES = 4 << 20
"""Limit of a group, unless one caller exceeds it, so that the topic's lock is soon free for other processes."""

Commit = Callable[[Sequence[Row]], Awaitable[list[int]]]


class Work(NamedTuple):
    """The rows of one caller, kept in one group, and the future of their offsets."""

    rows: list[Row]
    size: int
    future: asyncio.Future[list[int]]


class Writer:
    """The appends of one topic in this process.

    Args:
        commit: writes rows, all or none, and returns their offsets once they are durable.
    """

    def __init__(self, commit: Commit) -> None:
        self._commit = commit
        self._waiting: deque[Work] = deque()
        self._task: asyncio.Task[None] | None = None

    def submit(self, rows: list[Row], size: int) -> asyncio.Future[list[int]]:
        """The offsets of the rows once they are written; ``size`` is their bytes."""
        future: asyncio.Future[list[int]] = asyncio.get_running_loop().create_future()
        self._waiting.append(Work(rows, size, future))
        if self._task is None:
            self._task = asyncio.create_task(self._run(), name="callboard-log-writer")
        return future

    async def close(self) -> None:
        """Complete pending appends."""
        if self._task is not None:
            await self._task

    async def _run(self) -> None:
        try:
            while group := self._gather():
                try:
                    offsets = await self._commit([row for work in group for row in work.rows])
                except Exception as error:  # noqa: BLE001 - passed on to the waiters, whatever it is
                    _fail(group, error)
                else:
                    _answer(group, offsets)
        finally:
            self._task = None

    def _gather(self) -> list[Work]:
        """The next group, without cancelled appends; empty when none waits."""
        group, records, size = list[Work](), 0, 0
        while self._waiting:
            work = self._waiting[0]
            records, size = records + len(work.rows), size + work.size
            if group and (records > GROUP_RECORDS or size > GROUP_BYTES):
                break
            self._waiting.popleft()
            if not work.future.cancelled():
                group.append(work)
        return group


def _answer(group: list[Work], offsets: list[int]) -> None:
    begin = 0
    for work in group:
        end = begin + len(work.rows)
        if not work.future.done():
            work.future.set_result(offsets[begin:end])
        begin = end


def _fail(group: list[Work], error: Exception) -> None:
    for work in group:
        if not work.future.done():
            work.future.set_exception(error)
