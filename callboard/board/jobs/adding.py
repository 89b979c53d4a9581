"""Appends new jobs: all that are added while an append runs go into the next one."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from callboard.backends.log import Log
from callboard.board.jobs.new_job import NewJob, encoded
from callboard.board.jobs.reading import JobReading
from callboard.errors import LogUnavailable, TopicMissing
from callboard.messages.headers import new_record
from callboard.messages.jobs.job_messages import BATCH_MAX, JobsAddedMessage, job_id
from callboard.messages.jobs.limits import check_message
from callboard.messages.record import NewRecord

BATCH_BYTES_MAX = 1 << 20
"""Payloads in one record: every log takes it."""

NS_PER_MS = 1_000_000


class JobAdder:
    """Adds jobs to the job topic of a log."""

    def __init__(
        self, log: Log, topic: str, creator: str, now_ns: Callable[[], int], new_id: Callable[[], str],
        read: Callable[[], Awaitable[JobReading]],
    ) -> None:  # fmt: skip
        self.log, self._topic, self._creator = log, topic, creator
        self._now_ns, self._new_id, self._read = now_ns, new_id, read
        self._waiting: list[tuple[Sequence[NewJob], asyncio.Future[list[int]]]] = []
        self._appending: asyncio.Task[None] | None = None

    async def add(self, jobs: Sequence[NewJob]) -> list[int]:
        """Append the jobs, all or none; return their ids once the log has them.

        Raises ``RequestRefused`` for jobs that are no valid message, ``LogUnavailable`` if the log fails: then it is
        unknown whether they were added.
        """
        done: asyncio.Future[list[int]] = asyncio.get_running_loop().create_future()
        self._waiting.append((jobs, done))
        if self._appending is None:
            self._appending = asyncio.create_task(self._append())
        return await done

    async def _append(self) -> None:
        try:
            while self._waiting:
                taken, self._waiting = self._waiting, []
                await self._together(taken)
        finally:
            self._appending = None

    async def _together(self, taken: list[tuple[Sequence[NewJob], "asyncio.Future[list[int]]"]]) -> None:
        jobs = [job for its, _ in taken for job in its]
        try:
            batches = self._batches(jobs)
            offsets = await self._written([record for record, _ in batches])
        except Exception as error:  # noqa: BLE001 - raised by each who waits
            for _, done in taken:
                if not done.done():
                    done.set_exception(error)
            return
        ids = iter([job_id(at, place) for at, (_, many) in zip(offsets, batches, strict=True) for place in range(many)])
        for its, done in taken:
            mine = [next(ids) for _ in its]
            if not done.done():
                done.set_result(mine)

    async def _written(self, records: list[NewRecord]) -> list[int]:
        try:
            return await self.log.append(self._topic, records)
        except TopicMissing:
            await self.log.ensure(self._topic)
        except LogUnavailable:  # the requests make it harmless
            await asyncio.sleep(0.1)
            return await self._landed(records, await self.log.append(self._topic, records))
        return await self.log.append(self._topic, records)

    async def _landed(self, records: list[NewRecord], offsets: list[int]) -> list[int]:
        """The offsets of the records that count, after they were appended twice, perhaps."""
        requests = (await self._read()).jobs.requests
        return [requests.get(record.key, offset) for record, offset in zip(records, offsets, strict=True)]

    def _batches(self, jobs: list[NewJob]) -> list[tuple[NewRecord, int]]:
        """Records for the jobs, with the number of jobs in each."""
        found: list[tuple[NewRecord, int]] = []
        batch: list[tuple[NewJob, bytes]] = []
        nbytes = 0
        for job in jobs:
            payload = encoded(job.payload)
            if batch and (len(batch) == BATCH_MAX or nbytes + len(payload) > BATCH_BYTES_MAX):
                found.append((self._record(batch), len(batch)))
                batch, nbytes = [], 0
            batch.append((job, payload))
            nbytes += len(payload)
        if batch:
            found.append((self._record(batch), len(batch)))
        return found

    def _record(self, batch: list[tuple[NewJob, bytes]]) -> NewRecord:
        now_ns, request = self._now_ns(), self._new_id()
        topics = {topic: place for place, topic in enumerate(dict.fromkeys(job.topic for job, _ in batch))}
        options = (job.options(place, now_ns // NS_PER_MS) for place, (job, _) in enumerate(batch))
        added = JobsAddedMessage(
            request=request, creator=self._creator, topics=tuple(topics),
            topic_of=tuple([topics[job.topic] for job, _ in batch]), payloads=tuple([payload for _, payload in batch]),
            options=tuple([each for each in options if each is not None]),
        )  # fmt: skip
        check_message(added)
        return new_record(added, record_id=request, time_ns=now_ns, producer=self._creator, key=request)
