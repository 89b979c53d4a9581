"""The log over PostgreSQL: its public interface."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Concatenate, ParamSpec, TypeVar

from callboard.backends.examination import Clock, Examination
from callboard.backends.log import READ_BYTES_MAX, READ_RECORDS_MAX, Bounds, Capability, Retention
from callboard.backends.logs.limits import check_topic_name, is_topic_name, missing, to_rows
from callboard.backends.logs.postgres import reader, restore, retention
from callboard.backends.logs.postgres.append import Row, append_rows, digest_of
from callboard.backends.logs.postgres.connections import Connections
from callboard.backends.logs.postgres.listener import Listener
from callboard.backends.logs.postgres.topic import Topic
from callboard.backends.logs.process_log import ProcessLog
from callboard.backends.logs.restorable import Key, Returned
from callboard.backends.postgres import asyncpg
from callboard.backends.postgres.examination import examine_server
from callboard.backends.postgres.failure import UNKNOWN_OUTCOME, explained
from callboard.backends.postgres.server import Connection, Server
from callboard.errors import LogReplaced
from callboard.messages.record import NewRecord, Record

RECHECK_S = 1.0
"""How often a waiter checks without a notification: these are lost with the listening connection."""

P = ParamSpec("P")
T = TypeVar("T")


class PostgresLog(ProcessLog):
    """A durable log in a schema of a PostgreSQL database. Use it from one event loop.

    Nothing is connected before the first call. After a lost connection, the next call reconnects.

    Args:
        url: ``postgresql://user@host:5432/database``, with ``?schema=`` for a schema other than ``callboard``.
        clock: nanoseconds since the epoch, for the records' times and retention by age.
    """

    def __init__(self, url: str, clock: Callable[[], int] = time.time_ns) -> None:
        super().__init__()
        self._server, self._clock = Server.of(url), clock
        self._connections = Connections(self._server)
        self._topics: dict[str, Topic] = {}
        self._opening = asyncio.Lock()
        self._listener: Listener | None = None

    @property
    def capabilities(self) -> Capability:
        """See ``Log``."""
        return Capability.DURABLE | Capability.SHARED | Capability.KEYS | Capability.TRIM | Capability.TRIM_BYTES

    async def ensure(self, topic: str) -> None:
        """See ``Log``. Creates the schema in a database without one, but never changes an existing one.

        Raises ``ConfigError`` for an invalid name, wrong settings and an older schema, and ``SchemaTooNew``.
        """
        self._check_open()
        check_topic_name(topic)
        if topic not in self._topics:
            async with self._connections.lend(create=True) as db:
                await db.execute("SELECT ensure_topic($1)", topic)

    async def append(self, topic: str, records: Sequence[NewRecord]) -> list[int]:
        """See ``Log``."""
        held = await self._topic(topic)
        rows, size = to_rows(topic, records, digest_of)
        offsets = await held.writer.submit(rows, size)
        held.appended.hear(max(offsets, default=0))  # before the notification
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
        records = await self._look(topic, reader.read, topic, start, max_records, max_bytes)
        if not records:
            held.appended.read_nothing(start, news)
        return records

    async def wait(self, topic: str, start: int, timeout_s: float) -> bool:
        """See ``Log``."""
        held = await self._topic(topic)
        self._listen()
        return await self._wait(
            held.appended, start, lambda: self._look(topic, reader.holds, start), timeout_s, RECHECK_S
        )

    async def bounds(self, topic: str) -> Bounds:
        """See ``Log``."""
        return await self._look(topic, reader.bounds)

    async def trim(self, topic: str, retention_: Retention) -> int:
        """See ``Log``. Raises the low-water mark, then drops the partitions below it."""
        first = await self._look(topic, retention.trim, retention_, self._clock())
        retention_.check(topic, await self.identity(topic))
        return first

    async def identity(self, topic: str) -> str:
        """See ``Log``."""
        held = await self._topic(topic)
        async with self._connections.lend() as db:
            row = await db.fetchrow("SELECT id, identity FROM topics WHERE name = $1", topic)
        if row is None or row[0] != held.id:
            self._topics.pop(topic, None)
        if row is None:
            raise missing(topic)
        return str(row[1])

    async def keys(self, topic: str, start: int, stop: int) -> dict[int, Key]:
        """See ``Restorable``."""
        return await self._look(topic, restore.keys, start, stop)

    async def put_back(self, topic: str, records: Sequence[Returned]) -> bool:
        """See ``Restorable``."""
        return await self._look(topic, restore.put_back, records)

    async def complete(self, topic: str, identity: str, first: int, end: int) -> None:
        """See ``Restorable``."""
        await self._look(topic, restore.complete, identity, first, end)

    async def examine(self, topics: Sequence[str], clock: Clock) -> Examination:
        """See ``ExaminableLog``. Also examines a schema that is missing, older or newer."""
        self._check_open()
        with explained(self._server):
            return Examination(await examine_server(self._server, clock, topics))

    async def close(self) -> None:
        """See ``Log``."""
        if not self._ends():
            return
        await asyncio.gather(*(held.writer.close() for held in self._topics.values()))
        for held in self._topics.values():
            held.appended.ring()
        if self._listener is not None:
            await self._listener.close()
        await self._connections.close()

    async def _topic(self, topic: str) -> Topic:
        self._check_open()
        if topic in self._topics:
            return self._topics[topic]
        if not is_topic_name(topic):
            raise missing(topic)
        async with self._opening:  # concurrent callers continue in the order of their calls
            if topic not in self._topics:
                async with self._connections.lend() as db:
                    topic_id = await db.fetchval("SELECT id FROM topics WHERE name = $1", topic)
                if topic_id is None:
                    raise missing(topic)
                self._topics[topic] = Topic(topic_id, partial(self._commit, topic, f"append_{topic_id}"))
            return self._topics[topic]

    async def _commit(self, topic: str, function: str, rows: Sequence[Row]) -> list[int]:
        async with self._connections.lend(UNKNOWN_OUTCOME) as db:
            try:
                return await append_rows(db, function, rows, self._clock())
            except asyncpg.UndefinedFunctionError:
                raise self._replaced(topic) from None

    async def _look(
        self,
        topic: str,
        call: Callable[Concatenate[Connection, int, P], Awaitable[T]],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        held = await self._topic(topic)
        async with self._connections.lend() as db:
            try:
                return await call(db, held.id, *args, **kwargs)
            except asyncpg.UndefinedTableError:
                raise self._replaced(topic) from None

    def _replaced(self, topic: str) -> LogReplaced:
        self._topics.pop(topic, None)
        return LogReplaced(
            f"topic {topic!r} was dropped from {self._server.name} while in use; "
            "stop every process of this board and start again"
        )

    def _listen(self) -> None:
        """From now on, an append by any process rings the topic."""
        if self._listener is None:
            self._listener = Listener(self._server, self._heard, self._renewed)

    def _heard(self, topic_id: int, newest: int) -> None:
        for held in self._topics.values():
            if held.id == topic_id:
                held.appended.hear(newest)

    def _renewed(self) -> None:
        for held in self._topics.values():
            held.appended.ring()
