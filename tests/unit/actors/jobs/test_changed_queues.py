"""Leases that were planned before a queue was changed."""

import pytest

from callboard.actors.jobs.jobs import At, Jobs
from callboard.actors.jobs.rules.reducer import RECENT_MAX, apply
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


def lease(read_to: int, read_ms: int = 0) -> JobsLeasedMessage:
    return JobsLeasedMessage(
        cluster_log="log", epoch=1, dispatcher="d", workers=("w1",), worker_of=(0, 0), jobs=(FIRST, SECOND),
        read_to=read_to, read_ms=read_ms,
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
    assert [jobs.state_of(job) for job in (FIRST, SECOND)] == [JobState.QUEUED] * 2
    assert not apply(jobs, At(7, 0), lease(read_to=6))


def test_a_lease_that_was_planned_on_a_log_that_an_older_copy_has_replaced_is_void() -> None:
    jobs = Jobs()
    for offset, message in enumerate(FORMER, 1):
        apply(jobs, At(offset, 0), message)
    apply(jobs, At(5, 70), JobCommandMessage(resume="all"))
    assert "with another record, at offset 5" in apply(jobs, At(6, 70), lease(read_to=5, read_ms=60))[-1]
    assert "with another record, at offset 9" in apply(jobs, At(7, 70), lease(read_to=9, read_ms=60))[-1]
    assert not apply(jobs, At(8, 70), lease(read_to=5, read_ms=70))


def test_the_records_after_the_last_lease_are_forgotten_one_by_one_if_they_are_many() -> None:
    jobs = Jobs()
    for offset, message in enumerate(FORMER, 1):
        apply(jobs, At(offset, 0), message)
    for offset in range(5, RECENT_MAX + 4):
        apply(jobs, At(offset, 0), JobCommandMessage(resume="all"))
    assert len(jobs.recent) == RECENT_MAX
    apply(jobs, At(RECENT_MAX + 4, 0), JobCommandMessage(resume="all"))
    assert len(jobs.recent) == RECENT_MAX
    assert apply(jobs, At(RECENT_MAX + 5, 0), lease(read_to=4))
    assert not apply(jobs, At(RECENT_MAX + 6, 0), lease(read_to=RECENT_MAX + 5))


def test_a_lease_may_be_planned_before_a_queue_is_resumed() -> None:
    jobs = Jobs()
    for offset, message in enumerate((*FORMER, JobCommandMessage(resume="all")), 1):
        assert not apply(jobs, At(offset, 0), message)
    assert not apply(jobs, At(6, 0), lease(read_to=4))
