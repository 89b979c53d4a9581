"""Appends in groups: one commit takes everything that arrived during the one before, without lingering."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, NamedTuple, TypeVar

E = TypeVar("E")


class Work(NamedTuple, Generic[E]):
    """The entries of one caller, kept in one group, and the future of their offsets."""

    entries: Sequence[E]
    size: int
    future: asyncio.Future[list[int]]


class GroupWriter(Generic[E]):
    """The appends of one topic in this process.

    Args:
        commit: writes entries, all or none, and returns their offsets once they are durable.
        max_bytes: limit of a group, unless one caller exceeds it.
        max_records: likewise.
    """

    def __init__(self, commit: Callable[[list[E]], Awaitable[list[int]]], max_bytes: int, max_records: int) -> None:
        self._commit, self._max_bytes, self._max_records = commit, max_bytes, max_records
        self._waiting: deque[Work[E]] = deque()
        self._task: asyncio.Task[None] | None = None

    def submit(self, entries: Sequence[E], size: int) -> asyncio.Future[list[int]]:
        """The offsets of the entries once they are written; ``size`` is their bytes."""
        future: asyncio.Future[list[int]] = asyncio.get_running_loop().create_future()
        self._waiting.append(Work(entries, size, future))
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
                    offsets = await self._commit([entry for work in group for entry in work.entries])
                except Exception as error:  # noqa: BLE001 - every error is passed on to the waiters
                    _fail(group, error)
                else:
                    _answer(group, offsets)
        finally:
            self._task = None

    def _gather(self) -> list[Work[E]]:
        """The next group, without cancelled appends; empty when none waits."""
        group, records, size = list[Work[E]](), 0, 0
        while self._waiting:
            work = self._waiting[0]
            records, size = records + len(work.entries), size + work.size
            if group and (records > self._max_records or size > self._max_bytes):
                break
            self._waiting.popleft()
            if not work.future.cancelled():
                group.append(work)
        return group


def _answer(group: list[Work[E]], offsets: list[int]) -> None:
    begin = 0
    for work in group:
        end = begin + len(work.entries)
        if not work.future.done():
            work.future.set_result(offsets[begin:end])
        begin = end


def _fail(group: list[Work[E]], error: Exception) -> None:
    for work in group:
        if not work.future.done():
            work.future.set_exception(error)
