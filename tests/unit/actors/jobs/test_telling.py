"""What is told of jobs is what has become of them: in random histories, the states follow from the events alone."""

import pytest

from callboard.actors.jobs.jobs import At, Jobs
from callboard.actors.jobs.rules.telling import JobEvent, told
from callboard.messages.event import Event
from callboard.messages.jobs.job_messages import (
    JobCommandMessage,
    JobEnd,
    JobOptions,
    JobsAddedMessage,
    JobsEndedMessage,
    JobsLeasedMessage,
    Outcome,
    WorkerGoneMessage,
    WorkerMessage,
    job_id,
)
from callboard.messages.jobs.job_state import JobState
from tests.unit.actors.jobs.test_reducer import History

HISTORIES = 60
STATES = {
    "added": JobState.QUEUED, "started": JobState.ACTIVE, "failed": JobState.QUEUED, "returned": JobState.QUEUED,
    **{state.name.lower(): state for state in JobState if state.is_final},
}  # fmt: skip


class Told(History):
    """A random history whose records are also told."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.states: dict[int, JobState] = {}
        self.watched = Jobs()

    def see(self, message: Event) -> dict[int, str]:
        refused = super().see(message)
        for event in told(self.watched, At(self.offset, self.ms), message):
            assert event.topic
            if event.kind == "removed":
                del self.states[event.job]
            elif event.kind in STATES:
                assert self.states.get(event.job) != STATES[event.kind], event
                self.states[event.job] = STATES[event.kind]
        table = self.jobs.table
        known = {job: self.jobs.state_of(job) for job in table.ids if table.find(job) >= 0}
        assert known == self.states, message
        return refused


@pytest.mark.parametrize("seed", range(HISTORIES))
def test_the_states_of_all_jobs_follow_from_what_is_told(seed: int) -> None:
    history = Told(seed)
    for _ in range(60):
        history.step()


def story(*messages: Event) -> list[JobEvent]:
    jobs = Jobs()
    return [event for offset, message in enumerate(messages, 1) for event in told(jobs, At(offset, offset), message)]


def lease(jobs: tuple[int, ...], read_to: int) -> JobsLeasedMessage:
    worker_of = (0,) * len(jobs)
    return JobsLeasedMessage(
        cluster_log="log",
        epoch=1,
        dispatcher="d",
        workers=("i1",),
        worker_of=worker_of,
        jobs=jobs,
        read_to=read_to,
        read_ms=read_to,
    )


@pytest.mark.proves("J57", "J58")
def test_a_life_is_told_with_workers_attempts_authors_and_reasons() -> None:
    first, second, third = (job_id(1, place) for place in range(3))
    added = JobsAddedMessage(
        request="r", creator="web", topics=("a",), topic_of=(0, 0, 0), payloads=(b"", b"", b""),
        options=(JobOptions(job=2, after=(job_id(1, 1),), after_counts=(1,)),),
    )  # fmt: skip
    failed = JobsEndedMessage(
        worker="i1", jobs=(first, second), leases=(At(4, 4).lease,) * 2,
        outcomes=(int(Outcome.FAILED), int(Outcome.CANCELLED)), run_ms=(1, 1),
        ends=(JobEnd(job=0, message="no address", retry_ms=50),),
    )  # fmt: skip
    events = story(
        added, WorkerMessage(instance="web-1", incarnation="i1", slots=9, topics=("**",)), lease((), -1),
        lease((first, second), 3), failed, lease((first,), 4),
        JobCommandMessage(author="ann", reason="late", stop=(first,)), WorkerGoneMessage(incarnation="i1"),
        JobCommandMessage(author="bob", reason="old", forget=(first,)),
    )  # fmt: skip
    its = [(each.kind, each.worker, each.attempt, each.message, each.author, each.reason) for each in events
           if each.job == first]  # fmt: skip
    assert its == [
        ("added", "", 0, "", "web", ""),
        ("started", "web-1", 1, "", "", ""),
        ("failed", "web-1", 1, "no address", "", ""),
        ("started", "web-1", 2, "", "", ""),
        ("stopping", "web-1", 2, "", "ann", "late"),
        ("stopped", "web-1", 2, "its worker has gone", "", ""),
        ("removed", "", 0, "", "bob", "old"),
    ]
    assert [each.due_ms for each in events if each.kind == "failed"] == [5 + 50]
    assert [each.kind for each in events if each.job == second] == ["added", "started", "error"]
    assert [(each.kind, each.message) for each in events if each.job == third] == [
        ("added", ""), ("dropped", "a job for which it waited has not succeeded"),
    ]  # fmt: skip
