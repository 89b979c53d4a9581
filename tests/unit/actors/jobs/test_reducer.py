"""The fold of the job topic and the plans made on it, compared with the plain rules over random histories."""

from random import Random

import pytest

from callboard.actors.jobs.jobs import At, Jobs
from callboard.actors.jobs.planning import Planner
from callboard.actors.jobs.reducer import apply
from callboard.messages.event import Event, replaced
from callboard.messages.jobs.job_messages import (
    JobCommandMessage,
    JobOptions,
    JobQueue,
    JobsAddedMessage,
    JobsEndedMessage,
    JobsLeasedMessage,
    QueueOrder,
    ScheduleCommandMessage,
    ScheduleMessage,
    WorkerGoneMessage,
    WorkerMessage,
)
from callboard.messages.jobs.job_state import JobState
from callboard.messages.jobs.limits import check_message
from tests.unit.actors.jobs.plain_jobs import PlainJobs

TOPICS = ("a", "a/b", "a/c", "x/y", "x/z", "nobody/runs")
QUEUES = (
    JobQueue(name="ordered", topics=("x/**",), order=QueueOrder.ORDERED, retries=1, delay_ms=3),
    JobQueue(name="turns", topics=("a/*",), order=QueueOrder.TOPIC_ROUND_ROBIN, cluster_parallel=3, crashes=2),
    JobQueue(name="each-{0}", topics=("a/*",), parallel=1, retries=-1, delay_ms=5, ranking=1),
    JobQueue(name="ordered", topics=("x/**", "a"), parallel=2, retries=0),
)


class History:
    """A random history, applied to the fold and to the plain rules alike."""

    def __init__(self, seed: int) -> None:
        self.rng, self.jobs, self.plain = Random(seed), Jobs(), PlainJobs()
        self.planner = Planner(self.jobs)
        self.offset, self.ms, self.epoch = 0, 1000, 0

    def see(self, message: Event) -> dict[int, str]:
        check_message(message)
        self.offset += self.rng.randint(1, 2)
        self.plain.see(self.offset, self.ms, message)
        return apply(self.jobs, At(self.offset, self.ms), message)

    def any_jobs(self, most: int = 3) -> tuple[int, ...]:
        known = [*self.plain.jobs, 7]
        return tuple(self.rng.choice(known) for _ in range(self.rng.randint(1, most)))

    def add(self) -> JobsAddedMessage:
        many, rng = self.rng.randint(1, 6), self.rng
        options = tuple(
            JobOptions(
                job=place,
                due_ms=rng.choice([0, 0, self.ms + 4]),
                priority=rng.choice([0, 0, 5, -5]),
                lane=rng.choice(["", "", "one", "two"]),
                unique=rng.choice(["", "", "k", "l"]),
                unique_ms=rng.choice([0, 6]),
                retries=rng.choice([-2, 0, 1]),
            )
            for place in range(many)
            if rng.random() < 0.4
        )
        return JobsAddedMessage(
            request=f"{rng.randrange(400)}", creator="c", topics=TOPICS,
            topic_of=tuple(rng.randrange(len(TOPICS)) for _ in range(many)),
            payloads=(b"{}",) * many, options=options, schedule=rng.choice(["", "", "", "daily"]),
            tick_ms=self.ms + rng.randint(-4, 4),
        )  # fmt: skip

    def end(self) -> JobsEndedMessage:
        jobs = tuple(dict.fromkeys((*self.any_jobs(), *self.jobs.leases)))[:5]
        worker = self.rng.choice([*self.jobs.leases.values(), "w1"])
        outcomes = tuple(self.rng.choice([0, 0, 0, 1, 1, 2, 3]) for _ in jobs)
        leases = tuple(self.jobs.leased_to.get(worker, {}).get(job, 7) - self.rng.choice([0] * 9 + [1]) for job in jobs)
        return JobsEndedMessage(worker=worker, jobs=jobs, leases=leases, outcomes=outcomes, run_ms=(1,) * len(jobs))

    def worker(self) -> Event:
        name = f"w{self.rng.randint(1, 4)}"
        match self.rng.randrange(4):
            case 0:
                return WorkerGoneMessage(incarnation=name)
            case 1:
                return WorkerGoneMessage(incarnation=name, cluster_log="log", epoch=self.epoch)
        topics = self.rng.choice([("**",), ("a", "a/*"), ("x/**",)])
        return WorkerMessage(instance=name, incarnation=name, slots=self.rng.randint(0, 3), topics=topics)

    def command(self) -> JobCommandMessage:
        name = self.rng.choice(["ordered", "turns", "main", "each-b"])
        match self.rng.randrange(6):
            case 0:
                return JobCommandMessage(stop=self.any_jobs())
            case 1:
                return JobCommandMessage(drop=self.any_jobs())
            case 2:
                return JobCommandMessage(forget=self.any_jobs(6))
            case 3:
                return JobCommandMessage(configure=self.rng.choice(QUEUES), remove=self.rng.choice(["", "turns"]))
            case 4:
                return JobCommandMessage(suspend=name)
        return JobCommandMessage(resume=name)

    def schedule(self) -> Event:
        name, rng = self.rng.choice(["daily", "other"]), self.rng
        match rng.randrange(6):
            case 0:
                return ScheduleCommandMessage(suspend=name)
            case 1:
                return ScheduleCommandMessage(resume=name)
            case 2:
                return ScheduleCommandMessage(remove=name)
        rule = rng.choice([{"every_ms": 1000}, {"every_ms": 2000}, {"at_ms": self.ms + 2}])
        return ScheduleMessage(
            name=name, author=rng.choice(["ann", "bob"]), topic="a", suspended=rng.random() < 0.2, **rule
        )

    def lead(self) -> JobsLeasedMessage:
        self.epoch += self.rng.randint(-1, 2)
        return JobsLeasedMessage(cluster_log="log", epoch=max(0, self.epoch), dispatcher=f"d{self.epoch}")

    def plan(self) -> list[tuple[int, str]]:
        self.plain.advance(self.ms)
        return self.planner.plan(self.ms)

    def dispatch(self) -> list[tuple[int, str]]:
        """Plan, and lease what was planned."""
        planned = self.plan()
        fence = self.jobs.fence
        leased = JobsLeasedMessage(
            cluster_log=fence.cluster_log or "log", epoch=max(0, fence.epoch),
            dispatcher=fence.dispatcher or "d", workers=tuple(worker for _, worker in planned),
            worker_of=tuple(range(len(planned))), jobs=tuple(job for job, _ in planned), read_to=self.offset,
        )  # fmt: skip
        if planned and self.rng.random() < 0.1:
            leased = replaced(leased, read_to=self.jobs.leased_at - 1)
            assert self.see(leased)
            leased = replaced(leased, read_to=self.offset)
        if fence.epoch < 0 or self.rng.random() < 0.1:  # the append fails
            for job, _ in planned:
                self.jobs.waiting.enter(job)
            return []
        assert not self.see(leased)
        return planned

    def step(self) -> None:
        self.ms += self.rng.randint(0, 3)
        kinds = [self.add, self.add, self.end, self.end, self.worker, self.command, self.lead, self.schedule]
        self.see(self.rng.choice(kinds)())


def states(history: History) -> tuple[dict[int, object], dict[int, object]]:
    jobs = history.jobs
    found = {
        job: (JobState(jobs.table.states[row]), jobs.table.attempts[row], jobs.table.crashes[row],
              jobs.leases.get(job, ""), job in jobs.stopping)
        for row, job in enumerate(jobs.table.ids) if jobs.table.find(job) >= 0
    }  # fmt: skip
    expected = {
        job: (its.state, its.attempts, its.crashes, its.worker, its.stopping and not its.state.is_final)
        for job, its in history.plain.jobs.items()
    }
    return found, expected


@pytest.mark.parametrize("seed", range(60))
def test_the_fold_has_the_same_jobs_as_the_plain_rules(seed: int) -> None:
    history = History(seed)
    for _ in range(150):
        history.step()
        if history.rng.random() < 0.6:
            history.dispatch()
        found, expected = states(history)
        assert found == expected
        schedules = {its.message.name: (its.suspended, its.base_ms) for its in history.jobs.schedules}
        assert schedules == {name: (its.suspended, its.base_ms) for name, its in history.plain.schedules.items()}


@pytest.mark.parametrize("seed", range(60))
def test_a_plan_leases_what_may_run_and_leaves_no_slot_free(seed: int) -> None:
    history = History(seed)
    for _ in range(120):
        history.step()
        plain, planned = history.plain, history.plan()
        for job, worker in planned:
            its = plain.jobs[job]
            takers = plain.takers(job, history.ms)
            assert worker in takers, (job, its, takers)
            its.state, its.worker = JobState.ACTIVE, worker
            plain.hold(job, its)
        left = {job: plain.takers(job, history.ms) for job in plain.jobs}
        assert not any(left.values())
        for job, _ in planned:  # as after an append that failed
            its = plain.jobs[job]
            its.state, its.worker = JobState.QUEUED, ""
            history.jobs.waiting.enter(job)
        history.dispatch()
