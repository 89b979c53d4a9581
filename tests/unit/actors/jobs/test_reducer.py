"""The fold of the job topic and the plans made on it, compared with the plain rules over random histories."""

from collections import Counter
from random import Random
from typing import Any

import pytest

from callboard.actors.jobs.jobs import At, Jobs
from callboard.actors.jobs.planning import Planner
from callboard.actors.jobs.rules.reducer import apply
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
from callboard.messages.jobs.progress_messages import JobProgress, JobsProgressedMessage
from tests.unit.actors.jobs.plain_jobs import PlainJobs

TOPICS = ("a", "a/b", "a/c", "x/y", "x/z", "nobody/runs")
QUEUES = (
    JobQueue(name="ordered", topics=("x/**",), order=QueueOrder.ORDERED, retries=1, delay_ms=3),
    JobQueue(name="turns", topics=("a/*",), order=QueueOrder.TOPIC_ROUND_ROBIN, cluster_parallel=3, crashes=2),
    JobQueue(name="each-{0}", topics=("a/*",), parallel=1, retries=-1, delay_ms=5, ranking=1, rate=2, rate_ms=9),
    JobQueue(name="main", topics=("nobody/**",), rate=5, rate_ms=20),
    JobQueue(name="ordered", topics=("x/**", "a"), parallel=2, retries=0),
    JobQueue(name="main", topics=("**",), tags=("gpu",), prefer_creator=True),
)


NAMES = ("started", "waited_ms", "failed", *(state.name.lower() for state in JobState if state.is_final))


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
                **self.after(),
            )
            for place in range(many)
            if rng.random() < 0.4
        )
        return JobsAddedMessage(
            request=f"{rng.randrange(400)}", creator="c", topics=TOPICS,
            topic_of=tuple(rng.randrange(len(TOPICS)) for _ in range(many)),
            payloads=(b"{}",) * many, options=options, schedule=rng.choice(["", "", "", "daily"]),
            tick_ms=self.ms + rng.randint(-4, 4), earlier=("7", f"{rng.randrange(400)}"),
            void_from=rng.choice([-1, -1, self.offset + rng.randint(0, 4)]), schedule_set=self.set_at(),
        )  # fmt: skip

    def set_at(self) -> int:
        """Where the schedule was set, mostly."""
        its = self.jobs.schedules.get("daily")
        return its.set_at - self.rng.choice([0] * 9 + [1]) if its else -1

    def after(self) -> dict[str, Any]:
        """Jobs to wait for: known and unknown ones, of this record and of earlier requests."""
        rng = self.rng
        if rng.random() < 0.5:
            return {}
        known = list(self.plain.jobs)[-8:]
        first = tuple(rng.choice([*known * 3, -1024, -1023, -2048, -3071, 7]) for _ in range(rng.randint(1, 3)))
        many = tuple(rng.choice([1, 1, 2, 3]) for _ in first)
        return {"after": first, "after_counts": many, "after_failures": rng.random() < 0.5}

    def end(self) -> JobsEndedMessage:
        jobs = tuple(dict.fromkeys((*self.any_jobs(), *self.jobs.leases)))[:5]
        worker = self.rng.choice([*self.jobs.leases.values(), "w1"])
        outcomes = tuple(self.rng.choice([0, 0, 0, 1, 1, 2, 3]) for _ in jobs)
        leases = tuple(self.jobs.leased_to.get(worker, {}).get(job, 7) - self.rng.choice([0] * 9 + [1]) for job in jobs)
        return JobsEndedMessage(worker=worker, jobs=jobs, leases=leases, outcomes=outcomes, run_ms=(1,) * len(jobs))

    def progress(self) -> JobsProgressedMessage:
        jobs = tuple(dict.fromkeys((*self.any_jobs(), *self.jobs.leases)))[:5]
        worker = self.rng.choice([*self.jobs.leases.values(), "w1"])
        leased = self.jobs.leased_to.get(worker, {})
        return JobsProgressedMessage(worker=worker, progress=tuple(
            JobProgress(
                job=job, lease=leased.get(job, 7) - self.rng.choice([0] * 9 + [1]), number=self.rng.randint(1, 4),
                saved=self.rng.choice([b"", b"%d" % self.offset]), lines=("x",) * self.rng.randint(0, 2),
            ) for job in jobs
        ))  # fmt: skip

    def worker(self) -> Event:
        name = f"w{self.rng.randint(1, 4)}"
        match self.rng.randrange(4):
            case 0:
                return WorkerGoneMessage(incarnation=name)
            case 1:
                return WorkerGoneMessage(incarnation=name, cluster_log="log", epoch=self.epoch)
        topics = self.rng.choice([("**",), ("a", "a/*"), ("x/**",)])
        deny, tags = self.rng.choice([(), (), ("a/b",)]), self.rng.choice([(), ("gpu", "fast")])
        return WorkerMessage(
            instance=name,
            incarnation=name,
            slots=self.rng.randint(0, 3),
            topics=topics,
            deny=deny,
            tags=tags,
            host=name,
        )

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
            read_ms=self.jobs.recent.get(self.offset, 0),
        )  # fmt: skip
        if planned and self.rng.random() < 0.1:
            leased = replaced(leased, read_to=next(iter(self.jobs.recent), 0) - 1)
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
        kinds = [
            self.add,
            self.add,
            self.end,
            self.end,
            self.worker,
            self.command,
            self.lead,
            self.schedule,
            self.progress,
        ]
        self.see(self.rng.choice(kinds)())


def states(history: History) -> tuple[dict[int, object], dict[int, object]]:
    jobs = history.jobs
    found = {
        job: (JobState(jobs.table.states[row]), jobs.table.attempts[row], jobs.table.crashes[row],
              jobs.leases.get(job, ""), job in jobs.stopping, job in jobs.suspects, job in jobs.reports.present,
              jobs.reports.saved.get(job, b""), its.lines if (its := jobs.reports.of(job)) else ())
        for row, job in enumerate(jobs.table.ids) if jobs.table.find(job) >= 0
    }  # fmt: skip
    expected = {
        job: (its.state, its.attempts, its.crashes, its.worker, its.stopping and not its.state.is_final,
              its.suspect and not its.state.is_final, its.begun and bool(its.worker),
              b"" if its.state.is_final else its.saved, its.lines)
        for job, its in history.plain.jobs.items()
    }  # fmt: skip
    return found, expected


@pytest.mark.parametrize("seed", range(60))
def test_the_fold_has_the_same_jobs_as_the_plain_rules(seed: int) -> None:
    history = History(seed)
    jobs, plain = history.jobs, history.plain
    for _ in range(150):
        history.step()
        if history.rng.random() < 0.6:
            history.dispatch()
        found, expected = states(history)
        assert found == expected
        waits = {job: set(filter(plain.is_open, its.after)) for job, its in plain.jobs.items() if plain.waits(its)}
        assert [job for job in plain.jobs if job in jobs.flows] == [*waits]
        assert all(jobs.flows.waits_for(job) >= len(others) for job, others in waits.items())
        tallies = {(jobs.topics[number], name): getattr(tally, name)
                   for number, tally in enumerate(jobs.tallies.topics) for name in NAMES}  # fmt: skip
        assert +Counter(tallies) == +plain.tally
        schedules = {its.message.name: (its.suspended, its.base_ms) for its in history.jobs.schedules}
        assert schedules == {name: (its.suspended, its.base_ms) for name, its in history.plain.schedules.items()}


@pytest.mark.parametrize("seed", range(60))
def test_a_plan_leases_what_may_run_and_leaves_no_slot_free(seed: int) -> None:
    history = History(seed)
    for _ in range(120):
        history.step()
        plain, planned = history.plain, history.plan()
        begun = len(plain.starts)
        for job, worker in planned:
            its = plain.jobs[job]
            takers = plain.takers(job, history.ms)
            assert worker in takers, (job, its, takers)
            its.state, its.worker = JobState.ACTIVE, worker
            plain.start(plain.queue(its), history.ms)
            plain.hold(job, its)
        left = {job: plain.takers(job, history.ms) for job in plain.jobs}
        assert not any(left.values())
        del plain.starts[begun:]
        for job, _ in planned:  # as after an append that failed
            its = plain.jobs[job]
            its.state, its.worker = JobState.QUEUED, ""
            history.jobs.waiting.enter(job)
        history.dispatch()


@pytest.mark.proves("J68", "J69")
def test_a_crash_counts_for_jobs_that_had_begun_and_the_others_are_suspects() -> None:
    jobs, offset = Jobs(), 0

    def see(message: Event) -> None:
        nonlocal offset
        offset += 1
        assert not apply(jobs, At(offset, 1), message)

    see(JobsAddedMessage(request="r", creator="c", topics=("a",), topic_of=(0, 0), payloads=(b"", b"")))
    begun, waiting = jobs.table.ids
    see(JobsLeasedMessage(cluster_log="log", epoch=1, dispatcher="d"))
    for crash in range(1, 6):
        see(WorkerMessage(instance="w", incarnation=f"w{crash}", slots=9, topics=("**",)))
        see(JobsLeasedMessage(
            cluster_log="log", epoch=1, dispatcher="d", workers=(f"w{crash}",), worker_of=(0, 0),
            jobs=(begun, waiting), read_to=offset, read_ms=1,
        ))  # fmt: skip
        progress = JobProgress(job=begun, lease=At(offset, 1).lease, number=1)
        see(JobsProgressedMessage(worker=f"w{crash}", progress=(progress,)))
        see(WorkerGoneMessage(incarnation=f"w{crash}", cluster_log="log", epoch=1))
        assert list(jobs.table.crashes) == [crash, 0]
        assert waiting in jobs.suspects
    assert [JobState(state) for state in jobs.table.states] == [JobState.GIVEN_UP, JobState.QUEUED]
