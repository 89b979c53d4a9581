"""The log over SQLite files: its public interface."""

import asyncio
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import ParamSpec, TypeVar

from callboard.backends.examination import Clock, Examination
from callboard.backends.log import READ_BYTES_MAX, READ_RECORDS_MAX, Bounds, Capability, Retention
from callboard.backends.logs.limits import check_topic_name, is_topic_name, missing, record_bytes, to_rows
from callboard.backends.logs.process_log import ProcessLog
from callboard.backends.logs.restorable import Key, Returned
from callboard.backends.logs.sqlite import restore
from callboard.backends.logs.sqlite.append import append_rows, valid_text
from callboard.backends.logs.sqlite.examination import examine
from callboard.backends.logs.sqlite.failure import explained
from callboard.backends.logs.sqlite.retention import PAUSE_S, give_back_slice, remove_slice
from callboard.backends.logs.sqlite.schema import Files, identity, prepare
from callboard.backends.logs.sqlite.topic import Topic
from callboard.messages.record import NewRecord, Record

READ_THREADS = 4
"""Concurrent reads of one log."""

RECHECK_S = 0.5
"""How often a waiter checks without a ring: a writer may have died between its commit and its ring."""

P = ParamSpec("P")
T = TypeVar("T")


class SqliteLog(ProcessLog):
    """A durable log in a folder, with one SQLite file per topic, for the processes of one host.

    Use it from one event loop, and not on a network file system. Nothing is opened before the first call.
    Besides the contract's errors, every method may raise ``LogReplaced`` if a topic's file was replaced while open,
    ``SchemaTooNew``, and ``ConfigError`` for files of another program or in a forked child.

    Args:
        folder: created with the first topic.
        clock: nanoseconds since the epoch, for the records' times and retention by age; called in a thread.
    """

    def __init__(self, folder: Path, clock: Callable[[], int] = time.time_ns) -> None:
        super().__init__()
        self._folder, self._clock = folder, clock
        self._topics: dict[str, Topic] = {}
        self._opening = asyncio.Lock()
        self._threads = ThreadPoolExecutor(READ_THREADS, thread_name_prefix="callboard-log-read")

    @property
    def capabilities(self) -> Capability:
        """See ``Log``."""
        return Capability.DURABLE | Capability.SHARED | Capability.KEYS | Capability.TRIM | Capability.TRIM_BYTES

    async def ensure(self, topic: str) -> None:
        """See ``Log``. Raises ``ConfigError`` for an invalid name or a folder that holds something else."""
        self._check_open()
        check_topic_name(topic)
        if topic not in self._topics:
            await self._run(_prepare, Files.of(self._folder, topic))
            await self._topic(topic)

    async def append(self, topic: str, records: Sequence[NewRecord]) -> list[int]:
        """See ``Log``."""
        held = await self._topic(topic)
        rows, size = to_rows(topic, records, valid_text)
        offsets = await held.writer().submit(partial(append_rows, rows=rows, clock=self._clock), size)
        held.appended.hear(max(offsets, default=0))  # before the bell
        return offsets

    async def read(
        self,
        topic: str,
        start: int,
        max_records: int = READ_RECORDS_MAX,
        max_bytes: int = READ_BYTES_MAX,
    ) -> list[Record]:
        """See ``Log``."""
        held = await self._topic(topic)
        news = held.appended.news
        records, is_end = await self._run(held.reader.read, start, max_records, max_bytes)
        if is_end:
            held.appended.read_nothing(records[-1].offset + 1 if records else start, news)
        return records

    async def wait(self, topic: str, start: int, timeout_s: float) -> bool:
        """See ``Log``."""
        held = await self._topic(topic)
        held.listen()
        return await self._wait(held.appended, start, lambda: self._run(held.reader.holds, start), timeout_s, RECHECK_S)

    async def bounds(self, topic: str) -> Bounds:
        """See ``Log``."""
        held = await self._topic(topic)
        return await self._run(held.reader.bounds)

    async def trim(self, topic: str, retention: Retention) -> int:
        """See ``Log``. Removes in slices, so that writers need not wait long; a cancellation leaves the rest."""
        held = await self._topic(topic)
        below = await self._run(held.reader.lowest_staying, retention, self._clock())
        for step in (partial(remove_slice, retention=retention, below=below), give_back_slice):
            while await held.writer().submit(step):  # noqa: ASYNC110 - a pause for the writers, not a poll
                await asyncio.sleep(PAUSE_S)
        retention.check(topic, await self.identity(topic))
        return (await self.bounds(topic)).first

    async def identity(self, topic: str) -> str:
        """See ``Log``."""
        held = await self._topic(topic)
        return await self._run(held.reader.ask, identity)

    async def keys(self, topic: str, start: int, stop: int) -> dict[int, Key]:
        """See ``Restorable``."""
        held = await self._topic(topic)
        return await self._run(held.reader.ask, restore.keys, start, stop)

    async def put_back(self, topic: str, records: Sequence[Returned]) -> bool:
        """See ``Restorable``."""
        held = await self._topic(topic)
        size = sum(record_bytes(returned.record) for returned in records)
        return await held.writer().submit(partial(restore.put_back, records=records), size)

    async def complete(self, topic: str, identity: str, first: int, end: int) -> None:  # noqa: ARG002 - it has a record
        """See ``Restorable``."""
        held = await self._topic(topic)
        await held.writer().submit(partial(restore.complete, identity=identity, end=end))

    async def examine(self, topics: Sequence[str], clock: Clock) -> Examination:  # noqa: ARG002 - no server, no clock
        """See ``ExaminableLog``; every access to a topic checks the schema anyway."""
        return Examination(await self._run(examine, self._folder, topics))

    async def close(self) -> None:
        """See ``Log``."""
        if not self._ends():
            return
        async with self._opening:
            for held in self._topics.values():
                held.close_reader()  # first: the last one to close cleans up, which only writers can
            for held in self._topics.values():
                await self._run(held.close_writer)
            self._threads.shutdown()  # waits for running reads, which are short

    async def _topic(self, topic: str) -> Topic:
        self._check_open()
        if topic in self._topics:
            return self._topics[topic]
        if not is_topic_name(topic):
            raise missing(topic)
        # Runs to its end even if cancelled, so that the files opened by a thread are closed one day.
        opening = asyncio.create_task(self._opened(topic))
        opening.add_done_callback(lambda done: done.cancelled() or done.exception())  # of one that nobody waits for
        return await asyncio.shield(opening)

    async def _opened(self, topic: str) -> Topic:
        async with self._opening:
            self._check_open()
            if topic not in self._topics:
                self._topics[topic] = await self._run(Topic, Files.of(self._folder, topic))
            return self._topics[topic]

    async def _run(self, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, partial(call, *args, **kwargs))


def _prepare(files: Files) -> None:
    with explained(files.database):
        prepare(files)
