"""Appends new jobs: all that are added while an append runs go into the next one."""

import asyncio
from bisect import bisect_right
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence

from callboard.backends.log import Log
from callboard.board.jobs.log_context import context_of, contexts
from callboard.board.jobs.new_job import NewJob, encoded, following
from callboard.board.jobs.reading import JobReading
from callboard.errors import LogUnavailable, TopicMissing
from callboard.messages.headers import new_record
from callboard.messages.jobs.job_messages import BATCH_MAX, JobsAddedMessage, job_id
from callboard.messages.jobs.limits import AFTER_MAX, check_message
from callboard.messages.record import NewRecord

BATCH_BYTES_MAX = 1 << 20
"""Payloads and texts in one record: every log takes it."""

NS_PER_MS = 1_000_000


Context = Mapping[str, str]
Call = tuple[Sequence[NewJob], dict[int, list[int]], Context, "asyncio.Future[list[int]]"]
"""The jobs of a call, those of them that wait for others of it, the context of those without their own, and who waits
for their ids.
"""


class JobAdder:
    """Adds jobs to the job topic of a log."""

    def __init__(
        self, log: Log, topic: str, creator: str, now_ns: Callable[[], int], new_id: Callable[[], str],
        read: Callable[[], Awaitable[JobReading]],
    ) -> None:  # fmt: skip
        self.log, self._topic, self._creator = log, topic, creator
        self._now_ns, self._new_id, self._read = now_ns, new_id, read
        self._waiting: list[Call] = []
        self._appending: asyncio.Task[None] | None = None

    async def add(self, jobs: Sequence[NewJob], context: Context) -> list[int]:
        """Append the jobs, all or none, with this context for those without their own; return their ids once the log
        has them.

        Raises ``RequestRefused`` for jobs that are no valid message, ``LogUnavailable`` if the log fails: then it is
        unknown whether they were added.
        """
        done: asyncio.Future[list[int]] = asyncio.get_running_loop().create_future()
        self._waiting.append((jobs, following(jobs), context, done))
        if self._appending is None:
            self._appending = asyncio.create_task(self._append())
        return await done

    def check(self, jobs: Sequence[NewJob]) -> None:
        """Raise what ``add`` would, before it appends anything."""
        self._batches([*jobs], following(jobs), {})

    async def _append(self) -> None:
        try:
            while self._waiting:
                taken, self._waiting = self._waiting, []
                await self._together(taken)
        finally:
            self._appending = None

    async def _together(self, taken: list[Call]) -> None:
        jobs, after, given = list[NewJob](), dict[int, list[int]](), dict[int, Context]()
        for its, others, context, _ in taken:
            after |= {len(jobs) + place: [len(jobs) + each for each in found] for place, found in others.items()}
            if context:
                given |= dict.fromkeys(range(len(jobs), len(jobs) + len(its)), context)
            jobs += its
        batches: list[tuple[NewRecord, int]] = []
        try:
            batches = self._batches(jobs, after, given)
            offsets = await self._written([record for record, _ in batches])
        except Exception as error:  # noqa: BLE001 - raised by each who waits
            if not batches and len(taken) > 1:  # the jobs of one are at fault, and nothing is appended
                for each in taken:
                    await self._together([each])
                return
            for *_, done in taken:
                if not done.done():
                    done.set_exception(error)
            return
        ids = iter([job_id(at, place) for at, (_, many) in zip(offsets, batches, strict=True) for place in range(many)])
        for its, *_, done in taken:
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

    def _batches(
        self, jobs: list[NewJob], after: dict[int, list[int]], given: dict[int, Context]
    ) -> list[tuple[NewRecord, int]]:
        """Records for the jobs, with the number of jobs in each."""
        found: list[tuple[NewRecord, int]] = []
        batch: list[tuple[NewJob, bytes, Context | None]] = []
        starts = [0]  # the first job of each record
        nbytes = waits = 0
        for place, job in enumerate(jobs):
            payload = encoded(job.payload)
            context = context_of(job.context, given.get(place, {})) if given else job.context
            size = len(payload) + 4 * (len(job.lane) + len(job.unique) + len(job.title))
            if context:
                size += 4 * sum(len(name) + len(value) for name, value in context.items())
            full = len(batch) == BATCH_MAX or nbytes + size > BATCH_BYTES_MAX
            if batch and (full or waits + len(job.after) > AFTER_MAX):
                found.append((self._record(batch, found, starts, after), len(batch)))
                starts.append(place)
                batch, nbytes, waits = [], 0, 0
            batch.append((job, payload, context))
            nbytes += size
            waits += len(job.after)
        if batch:
            found.append((self._record(batch, found, starts, after), len(batch)))
        return found

    def _record(
        self,
        batch: list[tuple[NewJob, bytes, Context | None]],
        before: list[tuple[NewRecord, int]],
        starts: list[int],
        after: dict[int, list[int]],
    ) -> NewRecord:
        now_ns, request = self._now_ns(), self._new_id()
        topics = {topic: place for place, topic in enumerate(dict.fromkeys(job.topic for job, *_ in batch))}
        earlier: dict[int, int] = {}  # the offsets that stand for other records

        def others(place: int, job: NewJob) -> Iterator[int]:
            yield from job.known
            for each in after.get(starts[-1] + place, ()):
                number = bisect_right(starts, each) - 1
                offset = -1 if number == len(before) else earlier.setdefault(number, -2 - len(earlier))
                yield job_id(offset, each - starts[number])

        options = [
            job.options(place, now_ns // NS_PER_MS, [*others(place, job)] if job.after else ())
            for place, (job, *_) in enumerate(batch)
        ]
        found, context_of = contexts([context for *_, context in batch])
        added = JobsAddedMessage(
            request=request, creator=self._creator, topics=tuple(topics),
            topic_of=tuple([topics[job.topic] for job, *_ in batch]),
            payloads=tuple([payload for _, payload, _ in batch]), contexts=found, context_of=context_of,
            options=tuple([each for each in options if each is not None]),
            earlier=tuple([before[number][0].key or "" for number in earlier]),
        )  # fmt: skip
        check_message(added)
        return new_record(added, record_id=request, time_ns=now_ns, producer=self._creator, key=request)
