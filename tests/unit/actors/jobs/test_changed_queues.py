"""Leases that were planned before a queue was changed."""

import pytest

from callboard.actors.jobs.jobs import At, Jobs
from callboard.actors.jobs.rules.reducer import apply
from callboard.messages.event import Event
from callboard.messages.jobs.job_messages import (
    JobCommandMessage,
    JobQueue,
    JobsAddedMessage,
    JobsLeasedMessage,
    WorkerMessage,
    job_id,
)
from callboard.messages.jobs.job_state import JobState

CLAIM = JobsLeasedMessage(cluster_log="log", epoch=1, dispatcher="d")
FORMER = (
    WorkerMessage(instance="w", incarnation="w1", slots=9, topics=("**",)),
    JobCommandMessage(configure=JobQueue(name="all", topics=("**",))),
    JobsAddedMessage(request="r", creator="c", topics=("a",), topic_of=(0, 0), payloads=(b"1", b"2")),
    CLAIM,
)
FIRST, SECOND = job_id(3, 0), job_id(3, 1)


def lease(read_to: int) -> JobsLeasedMessage:
    return JobsLeasedMessage(
        cluster_log="log", epoch=1, dispatcher="d", workers=("w1",), worker_of=(0, 0), jobs=(FIRST, SECOND),
        read_to=read_to,
    )  # fmt: skip


@pytest.mark.proves("J43")
@pytest.mark.parametrize(
    "change",
    [
        JobCommandMessage(suspend="all"),
        JobCommandMessage(configure=JobQueue(name="all", topics=("**",), cluster_parallel=1)),
        JobCommandMessage(remove="all"),
    ],
    ids=["suspended", "configured", "removed"],
)
def test_a_lease_that_was_planned_before_a_queue_was_changed_is_void(change: Event) -> None:
    jobs = Jobs()
    for offset, message in enumerate((*FORMER, change), 1):
        assert not apply(jobs, At(offset, 0), message)
    assert apply(jobs, At(6, 0), lease(read_to=4))
    assert "planned on another log" in apply(jobs, At(6, 0), lease(read_to=6))[-1]
    assert [jobs.state_of(job) for job in (FIRST, SECOND)] == [JobState.QUEUED] * 2
    assert not apply(jobs, At(7, 0), lease(read_to=6))


def test_a_lease_may_be_planned_before_a_queue_is_resumed() -> None:
    jobs = Jobs()
    for offset, message in enumerate((*FORMER, JobCommandMessage(resume="all")), 1):
        assert not apply(jobs, At(offset, 0), message)
    assert not apply(jobs, At(6, 0), lease(read_to=4))
