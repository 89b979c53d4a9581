"""Brings jobs from an outbox to the log."""

import asyncio
import json
import socket
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Self

from callboard.actors.jobs.rules.adding import REQUESTS_MAX
from callboard.actors.jobs.rules.refusals import WHOLE
from callboard.backends.logs.walk import between
from callboard.board.context import BoardContext
from callboard.board.jobs.adding import BATCH_BYTES_MAX
from callboard.board.jobs.new_job import NewJob
from callboard.board.jobs.outbox.within import Pending, added
from callboard.board.jobs.reading import JobReading
from callboard.door import jobs as door
from callboard.errors import CallboardError, RequestRefused, Undecodable
from callboard.logger import get_logger
from callboard.messages.headers import new_record
from callboard.messages.jobs.job_messages import BATCH_MAX, JOB_MESSAGES, JobsAddedMessage
from callboard.messages.jobs.limits import check_message
from callboard.messages.reading import read
from callboard.messages.topics import job_topic

if TYPE_CHECKING:
    from callboard.backends.postgres.outbox import OutboxRow, OutboxState, OutboxTable

POLL_S = 5.0
"""How often it looks if it hears nothing: notifications can be lost with the connection."""

PAUSES_S = (0.1, 0.5, 1.0, 5.0)
"""Pauses after failures; the last one repeats."""

WINDOW = REQUESTS_MAX // 2
"""How many offsets a batch has to land in. Readers remember more requests, so that no two of its records count."""

LATE = "it came too late"


@dataclass(frozen=True, slots=True)
class Batch:
    """Rows that go into one record, which counts only at an offset from ``start`` up to ``void_from``."""

    request: str
    start: int
    log_id: str

    @classmethod
    def of(cls, text: str) -> "Batch":
        """The batch with this name in the table."""
        request, start, log_id = text.split(" ", 2)
        return cls(request, int(start), log_id)

    def __str__(self) -> str:
        return f"{self.request} {self.start} {self.log_id}"

    @property
    def void_from(self) -> int:
        """Its record is void from this offset on."""
        return self.start + WINDOW


class Outbox:
    """The outbox in a database: brings its jobs to the log while it is started, or inside ``async with``.

    Any number of processes may do so at a time; one works, and the others take over when its connection ends. It goes
    on through failures of the database and of the log, and logs them.

    The rows are first given to a batch, in a transaction of their own, then appended, then removed. If that is cut off,
    the next runner looks whether the log has the batch. This is never in doubt: the readers of the log refuse a batch
    that comes twice, or that comes so late that they may have forgotten the first one.
    """

    def __init__(self, board: BoardContext, read: Callable[[], Awaitable[JobReading]], url: str) -> None:
        from callboard.backends.postgres.outbox import server_of

        self._board, self._read = board, read
        self._topic = job_topic(board.settings.prefix)
        self._server = server_of(url)
        self._task: asyncio.Task[None] | None = None

    async def create(self) -> None:
        """Create the table, unless it is there. Raises ``ConfigError`` and ``LogUnavailable``."""
        from callboard.backends.postgres.outbox import opened

        async with opened(self._server, create=True):
            pass

    async def state(self) -> "OutboxState":
        """What is in it. Raises ``ConfigError`` and ``LogUnavailable``."""
        from callboard.backends.postgres.outbox import opened

        async with opened(self._server) as table:
            return await table.state()

    async def start(self) -> None:
        """Begin. Raises ``ConfigError`` if there is no table, and ``LogUnavailable`` for no database or no log."""
        if self._task is not None:
            raise RequestRefused("the outbox is started already")
        await self._board.log.ensure(self._topic)
        await self.state()
        self._task = asyncio.create_task(self._run(), name="callboard-outbox")
        self._task.add_done_callback(_tell_failure)

    async def ended(self) -> None:
        """Wait until it has ended. Raises what ended it, unless it was stopped."""
        if self._task is not None:
            await asyncio.wait({self._task})
            if not self._task.cancelled():
                self._task.result()

    async def stop(self) -> None:
        """Stop; what is not on the log yet waits for the next one. Idempotent."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    async def _run(self) -> None:
        from callboard.backends.postgres.outbox import opened

        failures = 0
        while True:
            try:
                async with opened(self._server) as table:
                    await table.listen()
                    while not await table.is_free():
                        await table.news(POLL_S)
                    while True:
                        await self._empty(table)
                        failures = 0
                        await table.news(POLL_S)
            except CallboardError as error:
                if not failures:  # an outage is told once
                    get_logger().warning("outbox.failed", server=self._server.name, error=str(error))
            await asyncio.sleep(PAUSES_S[min(failures, len(PAUSES_S) - 1)])
            failures += 1

    async def _empty(self, table: "OutboxTable") -> None:
        """Bring all to the log that is in the table now."""
        while True:
            for name in await table.batches():
                await self._finish(table, Batch.of(name))
            if not await self._begin(table):
                return

    async def _begin(self, table: "OutboxTable") -> bool:
        """Give the oldest rows to a batch; returns whether there were any."""
        log_id = await self._board.log.identity(self._topic)
        name = str(Batch(self._board.new_id(), (await self._read()).next, log_id))
        async with table.assigned(name, BATCH_MAX, BATCH_BYTES_MAX) as rows:
            await self._set_aside(table, {row.id: its for row in rows if isinstance(its := _job(row), str)})
        return bool(rows)

    async def _finish(self, table: "OutboxTable", batch: Batch) -> None:
        """Bring the batch to the log, unless it is there, and remove its rows. One that comes too late is looked at
        again; one that is void for good has its rows given back.
        """
        rows = await table.rows(str(batch))
        if await self._board.log.identity(self._topic) != batch.log_id:
            why: str | None = "a runner began to add it to another log, which may have it"
        elif (await self._read()).next < batch.void_from:
            why = await self._appended(batch, rows)
        else:
            why = await self._found(batch)
        if why is None:
            await table.remove(str(batch))
        elif why == LATE:
            await table.give_back(str(batch))
        else:
            await self._set_aside(table, dict.fromkeys((row.id for row in rows), why))

    async def _appended(self, batch: Batch, rows: Sequence["OutboxRow"]) -> str | None:
        """Append the batch unless the log has it; returns why its jobs were not added."""
        if batch.request not in (await self._read()).jobs.requests:
            jobs, host = list[Pending](), socket.gethostname()
            for row in rows:
                if isinstance(job := _job(row), str):
                    return job  # for the runner that began the batch, of another version, it was in order
                jobs.append(job)
            message = added(jobs, batch.request, host, batch.void_from)
            record = new_record(
                message, record_id=batch.request, time_ns=self._board.now_ns(), producer=host, key=batch.request
            )
            [offset] = await self._board.log.append(self._topic, [record])
            reading = await self._read()
            if batch.request not in reading.jobs.requests:
                refused = reading.refusals.get(offset, {}).get(WHOLE, "the log refused it")
                return LATE if offset >= batch.void_from else refused
        return None

    async def _found(self, batch: Batch) -> str | None:
        """Look for the batch on the log, where it could count; returns why its jobs were not added."""
        trimmed = list[tuple[int, int]]()
        async for record in between(self._board.log, self._topic, batch.start, batch.void_from, trimmed):
            message = read(record, JOB_MESSAGES, check_message)
            if isinstance(message, JobsAddedMessage) and message.request == batch.request:
                known = (await self._read()).jobs.numbers.keys() >= set(message.topics)
                return None if known else "there were too many topics"
        return "the log was trimmed since a runner began to add it, so nobody knows if it did" if trimmed else LATE

    async def _set_aside(self, table: "OutboxTable", rows: Mapping[int, str]) -> None:
        if rows:
            await table.set_aside(rows)
            reason = next(iter(rows.values()))
            get_logger().error("outbox.set_aside", server=self._server.name, jobs=len(rows), reason=reason)


def _job(row: "OutboxRow") -> Pending | str:
    """The job of a row; or why it cannot be added: any program may write to the table."""
    try:
        job = NewJob(**door.new_job(topic=row.topic, payload=row.payload, **json.loads(row.options)))
        pending = Pending(job, row.payload, row.added_ms)
        added([pending], "-", "-")
    except (RequestRefused, Undecodable, TypeError, ValueError) as error:
        return str(error)
    return pending


def _tell_failure(work: asyncio.Task[None]) -> None:
    if not work.cancelled() and (error := work.exception()) is not None:
        get_logger().error("outbox.ended", reason=str(error) or type(error).__name__)
