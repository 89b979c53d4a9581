"""Puts a snapshot together, and makes the jobs of it."""

import zlib
from collections.abc import Sequence
from hashlib import sha256

from callboard.actors.jobs.jobs import At, Fence, Jobs
from callboard.actors.jobs.reports import report_of
from callboard.actors.jobs.rules.leasing import welcome
from callboard.actors.jobs.schedules.schedules import Schedule
from callboard.actors.jobs.snapshots.columns import unpack
from callboard.actors.jobs.snapshots.taking import PART_BYTES
from callboard.actors.jobs.tallies import tallies
from callboard.errors import Undecodable
from callboard.messages import codec
from callboard.messages.jobs.job_messages import JobsSnapshotMessage
from callboard.messages.jobs.job_snapshots import JobsState


class Parts:
    """Collects the parts of one snapshot of the topic ``log_id``, which have other records between them. Without
    ``keep`` it only finds out when one is complete.
    """

    def __init__(self, log_id: str, *, keep: bool = True) -> None:
        self.log_id, self._keep = log_id, keep
        self._which = (-1, "")
        self._next = -1
        self._digest = sha256()
        self.contents: list[bytes] = []

    def has_begun(self, said: JobsSnapshotMessage) -> bool:
        """Whether this is a part of the present snapshot."""
        return (said.as_of, said.writer) == self._which

    def see(self, said: JobsSnapshotMessage) -> bool:
        """Take in a part; returns whether the snapshot is complete. Raises ``Undecodable``."""
        if said.log_id != self.log_id:
            raise Undecodable(f"it is of the topic {said.log_id}")
        if said.part == 0 and not self.has_begun(said):
            self._which, self._next, self._digest, self.contents = (said.as_of, said.writer), 0, sha256(), []
        if not self.has_begun(said) or said.part != self._next:
            return False  # its beginning is not known, or the part was seen before
        self._next += 1
        self._digest.update(said.content)
        if self._keep:
            self.contents.append(said.content)
        if not said.parts:
            return False
        self._which = (-1, "")
        if said.digest != self._digest.digest():
            raise Undecodable("its contents do not have its digest")
        return True


def loaded(contents: Sequence[bytes]) -> Jobs:
    """The jobs of a complete snapshot. Raises ``Undecodable``."""
    try:
        return _made(codec.decode(JobsState, b"".join(map(_decompressed, contents))))
    except (ValueError, TypeError, LookupError, zlib.error) as error:
        raise Undecodable(f"its contents do not fit together: {error}") from error


def _decompressed(content: bytes) -> bytes:
    stream = zlib.decompressobj()
    found = stream.decompress(content, PART_BYTES)
    if not stream.eof:
        raise Undecodable(f"a part has more than {PART_BYTES} bytes, or less than it should")
    return found


def _made(state: JobsState) -> Jobs:
    jobs = Jobs()
    jobs.fence = Fence(state.cluster_log, state.epoch, state.dispatcher)
    jobs.recent.update(zip(state.recent, state.recent_ms, strict=True))
    for queue in state.queues:
        jobs.queues.configure(queue)
    jobs.queues.suspended.update(state.suspended)
    jobs.topics.extend(state.topics)
    jobs.numbers.update({topic: number for number, topic in enumerate(state.topics)})
    for rows in state.rows:
        jobs.table.extend(rows.columns)
    jobs.table.recount()
    jobs.options.update(zip(state.option_jobs, state.options, strict=True))
    for worker in state.workers:
        list(welcome(jobs, At(-1, 0), worker))
    for each in state.leases:
        jobs.leased_to[each.worker] = dict(zip(each.jobs, each.leases, strict=True))
        jobs.leases.update(dict.fromkeys(each.jobs, each.worker))
        jobs.running[each.worker].update(jobs.table.topics[jobs.table.find(job)] for job in each.jobs)
    jobs.reconfigured()
    jobs.stopping.update(state.stopping)
    due_ms = dict(zip(state.due_jobs, state.due_ms, strict=True))
    jobs.flows.begin()
    jobs.waiting.begin(due_ms, dict(zip(state.lanes, state.lane_jobs, strict=True)), jobs.flows)
    jobs.rates.begin(zip(state.rate_queues, state.rate_first_ms, state.rate_last_ms, state.rate_starts, strict=True))
    jobs.tallies.since_ms = state.since_ms
    jobs.tallies.topics.extend(tallies(state.topic_tallies))
    jobs.tallies.workers.update(zip(state.tally_workers, tallies(state.worker_tallies), strict=True))
    for key, job, until_ms in zip(state.keys, state.key_jobs, state.key_until_ms, strict=True):
        jobs.unique.give(key, job, until_ms)
        if not jobs.is_open(job):
            jobs.unique.ended(key, job, -1)
    for kept in state.history:
        jobs.history.extend(kept.keep_ms, unpack("Q", kept.jobs))
    for its in state.schedules:
        jobs.schedules.put(Schedule(its.message, its.suspended, its.base_ms, its.last_ms, its.set_at))
    jobs.requests.update(zip(state.requests, state.request_offsets, strict=True))
    jobs.suspects.update(state.suspects)
    jobs.creators.update(zip(state.creator_jobs, state.creators, strict=True))
    jobs.reports.saved.update(zip(state.saved_jobs, state.saved, strict=True))
    jobs.reports.present.update({its.job: report_of(its) for its in state.present})
    jobs.reports.past.update({its.job: report_of(its) for its in state.past})
    return jobs
