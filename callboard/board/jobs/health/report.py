"""Who runs jobs, and how long they have been waiting."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice

from callboard.board.context import BoardContext
from callboard.board.jobs.reading import JobReading
from callboard.board.topology.opening import current
from callboard.board.topology.view import report
from callboard.messages.jobs.job_state import JobState

LOOKS_MAX = 100_000
"""Jobs that are looked at to find the oldest that is due: those that are not due yet may be before it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerState:
    """A worker, as it said of itself.

    Attributes:
        instance: its id in the cluster.
        incarnation: of this start of it.
        slots: how many jobs it runs at a time; 0 if it takes no more.
        running: jobs that it has leased.
        topics: the patterns that it has functions for.
        dispatches: whether it leases jobs to all workers.
        host: that it runs on.
        deny: the topics and patterns that it does not run after all.
        tags: what it has, which queues can demand.
        live: whether it is a member of the cluster, which has not been silent for longer than a lease.
    """

    instance: str
    incarnation: str
    slots: int
    running: int
    topics: tuple[str, ...]
    dispatches: bool
    host: str
    deny: tuple[str, ...]
    tags: tuple[str, ...]
    live: bool


async def worker_states(board: BoardContext, reading: JobReading) -> tuple[WorkerState, ...]:
    """The workers, by instance."""
    jobs, live = reading.jobs, await _live(board)
    found = (
        WorkerState(
            instance=its.instance, incarnation=incarnation, slots=its.slots,
            running=len(jobs.leased_to.get(incarnation, ())), topics=its.topics,
            dispatches=incarnation == jobs.fence.dispatcher, host=its.host, deny=its.deny, tags=its.tags,
            live=incarnation in live,
        )
        for incarnation, its in jobs.workers.items()
    )  # fmt: skip
    return tuple(sorted(found, key=lambda its: (its.instance, its.incarnation)))


async def _live(board: BoardContext) -> frozenset[str]:
    """The incarnations of the members of the cluster; none if it has been silent for longer than a lease."""
    if (members := await current(board)) is None:
        return frozenset()
    found = report(members, board.now_ns())
    is_silent = found.last_record_s * 1000 > found.settings.get("lease_ms", 0)
    return frozenset() if is_silent else frozenset(each.incarnation for each in found.members)


def oldest_s(reading: JobReading, now_ms: int) -> Mapping[str, float]:
    """By queue, how long the oldest job has been waiting that could run."""
    jobs, table, found = reading.jobs, reading.jobs.table, dict[str, float]()
    queued = {jobs.queue_of(topic).name for (topic, state), many in table.counts.items() if many and not state}
    for row in islice(table.having((JobState.QUEUED,)), LOOKS_MAX):
        job, queue = table.ids[row], jobs.queue_of(table.topics[row]).name
        since_ms = max(table.since_ms[row], jobs.waiting.due_ms(job))
        if queue not in found and since_ms <= now_ms and job not in jobs.flows:
            found[queue] = (now_ms - since_ms) / 1000
            if len(found) == len(queued):
                break
    return found
