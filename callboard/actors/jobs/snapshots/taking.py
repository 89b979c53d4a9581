"""Takes a snapshot of all jobs."""

import zlib
from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256
from itertools import islice
from typing import Any, TypeVar

from callboard.actors.jobs.jobs import Jobs
from callboard.actors.jobs.snapshots.columns import pack
from callboard.actors.jobs.tallies import flat
from callboard.messages import codec
from callboard.messages.jobs.job_messages import JobsSnapshotMessage, WorkerMessage
from callboard.messages.jobs.job_snapshots import JobRows, JobsState, KeptJobs, ScheduleState, WorkerLeases
from callboard.messages.jobs.progress_messages import JobProgress

T = TypeVar("T")

PART_BYTES = 900_000
"""Of the state in one record, before it is compressed, which takes about 10 ms: every log takes the record."""

LEVEL = 1
"""Of compression: the higher ones take several times as long for a tenth less."""

ROWS, ENTRIES, PIECES = 20_000, 1000, 5
"""Rows and other things that are encoded at a time, and how often for a part."""


def parts(jobs: Jobs, log_id: str, as_of: int, writer: str) -> Iterator[JobsSnapshotMessage]:
    """The parts of a snapshot after the record at ``as_of``, the last one that was applied. With the first one,
    everything is copied, so the jobs may change afterwards.
    """
    digest, held, number, pieces = sha256(), bytearray(), 0, 0
    for state in _states(jobs):
        held += codec.encode(state)
        pieces += 1
        while len(held) > PART_BYTES or pieces == PIECES:
            content = zlib.compress(held[:PART_BYTES], LEVEL)
            digest.update(content)
            yield JobsSnapshotMessage(log_id=log_id, as_of=as_of, writer=writer, part=number, content=content)
            del held[:PART_BYTES]
            number, pieces = number + 1, 0
    content = zlib.compress(held, LEVEL)
    digest.update(content)
    yield JobsSnapshotMessage(
        log_id=log_id, as_of=as_of, writer=writer, part=number, content=content, parts=number + 1,
        digest=digest.digest(),
    )  # fmt: skip


def _states(jobs: Jobs) -> Iterator[JobsState]:
    columns = [column[:] for column in jobs.table.columns]
    options, requests, keys = dict(jobs.options), dict(jobs.requests), jobs.unique.owners()
    due_ms, lanes = jobs.waiting.held()
    history, schedules = jobs.history.kept(), list(jobs.schedules)
    creators, saved = dict(jobs.creators), dict(jobs.reports.saved)
    present, past = dict(jobs.reports.present), dict(jobs.reports.past)
    fence, starts, recent = jobs.fence, list(jobs.rates), dict(jobs.recent)
    yield JobsState(
        cluster_log=fence.cluster_log, epoch=fence.epoch, dispatcher=fence.dispatcher,
        queues=jobs.queues.configured, suspended=tuple(sorted(jobs.queues.suspended)), topics=tuple(jobs.topics),
        workers=tuple(WorkerMessage(incarnation=name, **its._asdict()) for name, its in jobs.workers.items()),
        leases=tuple(
            WorkerLeases(worker=name, jobs=tuple(leased), leases=tuple(leased.values()))
            for name, leased in jobs.leased_to.items()
        ),
        stopping=tuple(sorted(jobs.stopping)), since_ms=jobs.tallies.since_ms,
        topic_tallies=flat(jobs.tallies.topics), tally_workers=tuple(jobs.tallies.workers),
        worker_tallies=flat(jobs.tallies.workers.values()),
        suspects=tuple(sorted(jobs.suspects)),
    )  # fmt: skip
    for start in range(0, len(columns[0]), ROWS):
        some = tuple(pack(column[start : start + ROWS]) for column in columns)
        yield JobsState(rows=(JobRows(rows=min(ROWS, len(columns[0]) - start), columns=some),))
    for keep_ms, ended in history.items():
        for start in range(0, len(ended), ROWS):
            yield JobsState(history=(KeptJobs(keep_ms=keep_ms, jobs=pack(ended[start : start + ROWS])),))
    yield from _pieces(options, "option_jobs", "options")
    yield from _pieces(due_ms, "due_jobs", "due_ms")
    yield from _pieces(lanes, "lanes", "lane_jobs")
    yield from _pieces(requests, "requests", "request_offsets")
    yield from _pieces(creators, "creator_jobs", "creators")
    yield from _pieces(saved, "saved_jobs", "saved")
    yield from _pieces(recent, "recent", "recent_ms")
    for some_reports in _batches(present.items()):
        yield JobsState(present=tuple(JobProgress(job=job, **report._asdict()) for job, report in some_reports))
    for some_reports in _batches(past.items()):
        yield JobsState(past=tuple(JobProgress(job=job, **report._asdict()) for job, report in some_reports))
    for some_keys in _batches(keys.items()):
        names, owners = zip(*some_keys, strict=True)
        key_jobs, until_ms = zip(*owners, strict=True)
        yield JobsState(keys=names, key_jobs=key_jobs, key_until_ms=until_ms)
    for some_starts in _batches(starts):
        names, first, last, many = zip(*some_starts, strict=True)
        yield JobsState(rate_queues=names, rate_first_ms=first, rate_last_ms=last, rate_starts=many)
    for some_schedules in _batches(schedules):
        yield JobsState(schedules=tuple(ScheduleState(**its._asdict()) for its in some_schedules))


def _pieces(entries: Mapping[Any, Any], keys: str, values: str) -> Iterator[JobsState]:
    for some in _batches(entries.items()):
        columns: dict[str, Any] = dict(zip((keys, values), zip(*some, strict=True), strict=True))
        yield JobsState(**columns)


def _batches(entries: Iterable[T]) -> Iterator[tuple[T, ...]]:
    left = iter(entries)
    while some := tuple(islice(left, ENTRIES)):
        yield some
