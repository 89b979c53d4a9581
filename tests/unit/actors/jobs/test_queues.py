"""Queues: which topics belong to them, in which order their jobs start, and how often these are tried."""

from collections.abc import Iterable

import pytest

from callboard.actors.core.decision import Moment
from callboard.actors.jobs.jobs import At, Jobs
from callboard.actors.jobs.planning import Planner
from callboard.actors.jobs.queues import Queues
from callboard.actors.jobs.rules.ending import JITTER_PERCENT, retry_ms
from callboard.actors.jobs.rules.reducer import apply
from callboard.actors.jobs.snapshots.search import Snapshot
from callboard.actors.jobs.worker.dispatching import Dispatching
from callboard.actors.jobs.worker.settings import WorkerSettings
from callboard.errors import Undecodable
from callboard.messages.event import Event
from callboard.messages.jobs.job_mail import TellCluster
from callboard.messages.jobs.job_messages import (
    JobCommandMessage,
    JobEnd,
    JobQueue,
    JobsAddedMessage,
    JobsEndedMessage,
    JobsLeasedMessage,
    Outcome,
    QueueOrder,
    WorkerMessage,
    job_id,
)
from callboard.messages.jobs.job_state import JobState
from callboard.messages.jobs.limits import check_message, check_queue


class Topic:
    """Jobs as they follow from records, with two workers of ten slots, and a dispatcher."""

    def __init__(self, *queues: JobQueue) -> None:
        self.jobs, self.offset, self.ms = Jobs(), 0, 1000
        self.planner = Planner(self.jobs)
        for queue in queues:
            self.see(JobCommandMessage(configure=queue))
        for name in ("one", "two"):
            self.see(WorkerMessage(instance=name, incarnation=name, slots=10, topics=("**",)))
        self.see(JobsLeasedMessage(cluster_log="log", epoch=1, dispatcher="d"))

    def see(self, message: Event) -> dict[int, str]:
        check_message(message)
        self.offset += 1
        return apply(self.jobs, At(self.offset, self.ms), message)

    def add(self, *topics: str) -> list[int]:
        names = tuple(dict.fromkeys(topics))
        its = tuple(map(names.index, topics))
        self.see(JobsAddedMessage(request=f"{self.offset}", creator="c", topics=names, topic_of=its,
                                  payloads=(b"",) * len(topics)))  # fmt: skip
        return [job_id(self.offset, place) for place in range(len(topics))]

    def lease(self) -> list[int]:
        """Lease what may run; returns these jobs in their order."""
        planned = self.planner.plan(self.ms)
        leased = JobsLeasedMessage(
            cluster_log="log", epoch=1, dispatcher="d", workers=tuple(worker for _, worker in planned),
            worker_of=tuple(range(len(planned))), jobs=tuple(job for job, _ in planned), read_to=self.offset,
            read_ms=self.jobs.recent[self.offset],
        )  # fmt: skip
        assert not self.see(leased)
        return [job for job, _ in planned]

    def end(self, *jobs: int, outcome: Outcome = Outcome.SUCCEEDED, ends: Iterable[JobEnd] = ()) -> None:
        for job in jobs:
            worker = self.jobs.leases[job]
            lease = self.jobs.leased_to[worker][job]
            ended = JobsEndedMessage(
                worker=worker, jobs=(job,), leases=(lease,), outcomes=(outcome,), run_ms=(1,), ends=tuple(ends)
            )
            assert not self.see(ended)


def named(*queues: JobQueue) -> Queues:
    found = Queues()
    for queue in queues:
        found.configure(queue)
    return found


@pytest.mark.proves("J35")
def test_a_topic_belongs_to_the_matching_queue_of_the_highest_ranking_else_to_the_one_configured_first() -> None:
    queues = named(
        JobQueue(name="all", topics=("**",)),
        JobQueue(name="late", topics=("a/b",)),
        JobQueue(name="high", topics=("x/*", "y"), ranking=1),
    )
    assert [queues.of(topic).name for topic in ("a/b", "x/y", "y", "z")] == ["all", "high", "high", "all"]
    queues.remove("all")
    assert [queues.of(topic).name for topic in ("a/b", "z")] == ["late", "main"]
    queues.configure(JobQueue(name="main", topics=("never",), retries=1))
    assert (queues.of("z").name, queues.of("z").retries) == ("main", 1)


@pytest.mark.proves("J36")
@pytest.mark.parametrize(
    ("pattern", "topics"),
    [("a", ["a"]), ("a/*", ["a/b"]), ("a/**", ["a/b", "a/b/c"]), ("**", ["a", "a/b", "a/b/c", "ab"])],
)
def test_a_queue_matches_a_topic_its_children_or_all_below(pattern: str, topics: list[str]) -> None:
    queues = named(JobQueue(name="q", topics=(pattern,)))
    assert [topic for topic in ("a", "a/b", "a/b/c", "ab") if queues.of(topic).name == "q"] == topics


@pytest.mark.proves("J37")
def test_the_name_of_a_queue_has_what_its_pattern_matched() -> None:
    queues = named(JobQueue(name="{0}-mails", topics=("mail/**", "post")))
    found = [queues.of(topic).name for topic in ("mail/send", "mail/send/now", "mail/3", "post")]
    assert found == ["send-mails", "send_now-mails", "_3-mails", "-mails"]


@pytest.mark.proves("J38")
@pytest.mark.parametrize(
    "wrong",
    [{"topics": ()}, {"name": ""}, {"topics": ("a b",)}, {"retries": -2}, {"parallel": -1}, {"rate": -1},
     {"rate_ms": 0}, {"growth_percent": 99}],
)  # fmt: skip
def test_a_queue_that_is_invalid_is_no_message(wrong: dict[str, object]) -> None:
    with pytest.raises(Undecodable):
        check_queue(JobQueue(**{"name": "q", "topics": ("a",), **wrong}))  # type: ignore[arg-type]


@pytest.mark.proves("J39")
def test_an_ordered_queue_runs_one_job_at_a_time_and_one_that_is_tried_again_holds_up_the_others() -> None:
    topic = Topic(JobQueue(name="q", topics=("**",), order=QueueOrder.ORDERED, delay_ms=500))
    first, second, third = topic.add("a", "b", "a")
    assert topic.lease() == [first]
    assert topic.lease() == []
    topic.end(first, outcome=Outcome.FAILED)
    assert topic.lease() == []
    topic.ms += 600
    assert topic.lease() == [first]
    topic.end(first)
    assert topic.lease() == [second]
    topic.end(second)
    assert topic.lease() == [third]


@pytest.mark.proves("J40")
def test_an_unordered_queue_runs_as_many_at_a_time_as_its_limits_allow_the_oldest_first() -> None:
    topic = Topic(JobQueue(name="q", topics=("**",), parallel=2, cluster_parallel=3))
    jobs = topic.add(*"ababab")
    assert topic.lease() == jobs[:3]
    topic.end(jobs[1])
    assert topic.lease() == [jobs[3]]
    topic = Topic(JobQueue(name="q", topics=("**",), parallel=2))
    assert len(topic.add(*"aaaaaa")) - len(topic.lease()) == 2


@pytest.mark.proves("J41")
def test_the_topics_of_a_round_robin_queue_take_turns() -> None:
    topic = Topic(JobQueue(name="q", topics=("**",), order=QueueOrder.TOPIC_ROUND_ROBIN, cluster_parallel=1))
    flooded, (other, last) = topic.add(*"aaaa"), topic.add("b", "c")
    started = list[int]()
    while job := topic.lease():
        started += job
        topic.end(*job)
    assert started == [flooded[0], other, last, *flooded[1:]]


@pytest.mark.proves("J41")
def test_no_topic_has_had_its_turn_by_a_lease_that_was_not_appended() -> None:
    topic = Topic(JobQueue(name="q", topics=("**",), order=QueueOrder.TOPIC_ROUND_ROBIN, cluster_parallel=1))
    first, other = topic.add("a", "b")
    told = TellCluster(cluster_log="log", epoch=1, incarnation="d", standing=True, members=("one", "two"))
    its = Dispatching(WorkerSettings(topic="jobs", instance="d"), Snapshot("", topic.offset, topic.jobs), told)
    for _ in range(3):
        (lease,) = its.next(Moment(topic.ms * 1_000_000, 0.0))
        assert isinstance(lease, JobsLeasedMessage)
        assert lease.jobs == (first,)
        its.failed()
        its.retry()
    (lease,) = its.next(Moment(topic.ms * 1_000_000, 0.0))
    topic.see(lease)
    its.appended((topic.offset,))
    its.read(topic.offset)
    topic.end(first)
    topic.add("a")
    (lease,) = its.next(Moment(topic.ms * 1_000_000, 0.0))
    assert isinstance(lease, JobsLeasedMessage)
    assert lease.jobs == (other,)


@pytest.mark.parametrize(
    "queues",
    [
        (),
        (JobQueue(name="q", topics=("**",), order=QueueOrder.TOPIC_ROUND_ROBIN),),
        (JobQueue(name="q", topics=("a",)),),
    ],
)
def test_short_jobs_that_are_leased_ahead_keep_no_slot_from_a_long_one(queues: tuple[JobQueue, ...]) -> None:
    topic = Topic(*queues)
    for name in ("one", "two"):
        topic.see(WorkerMessage(instance=name, incarnation=name, slots=1, topics=("**",)))
    (known,) = topic.add("a")
    topic.planner.learn(
        JobsEndedMessage(worker="one", jobs=(known,), leases=(0,), outcomes=(Outcome.SUCCEEDED,), run_ms=(1,))
    )
    topic.add(*["a"] * 500)
    topic.lease()
    (long,) = topic.add("b")
    topic.add(*["a"] * 500)
    ended = 0
    while long not in topic.lease():
        topic.end(next(iter(topic.jobs.leases)))
        ended += 1
    assert ended <= (110 if queues else 510), "in one queue, older ones come first"


@pytest.mark.parametrize(("run_ms", "first_max", "records_max"), [(1, 1000, 10), (30, 32, 12)])
def test_short_jobs_are_leased_ahead_many_at_a_time_when_a_worker_has_half_of_them_left(
    run_ms: int, first_max: int, records_max: int
) -> None:
    topic = Topic()
    (known,) = topic.add("a")
    topic.planner.learn(
        JobsEndedMessage(worker="one", jobs=(known,), leases=(0,), outcomes=(Outcome.SUCCEEDED,), run_ms=(run_ms,))
    )
    topic.add(*["a"] * 900)
    topic.add(*["a"] * 900)
    first = topic.lease()
    assert 0.9 * first_max < len(first) <= first_max, "50 ms of ten slots, on each of two workers"
    records = 0
    for job in first:
        topic.end(job)
        records += bool(topic.lease())
    assert 1 < records < records_max


@pytest.mark.proves("J44")
@pytest.mark.parametrize(("retries", "runs"), [(0, 1), (2, 3), (-1, 50)])
def test_a_job_runs_once_more_than_it_is_tried_again_and_is_then_given_up(retries: int, runs: int) -> None:
    topic = Topic(JobQueue(name="q", topics=("**",), retries=retries, delay_ms=0))
    [job] = topic.add("a")
    for _ in range(runs):
        assert topic.jobs.state_of(job) is JobState.QUEUED
        topic.ms += 1
        assert topic.lease() == [job]
        topic.end(job, outcome=Outcome.FAILED)
    assert topic.jobs.state_of(job) is (JobState.QUEUED if retries < 0 else JobState.GIVEN_UP)


@pytest.mark.proves("J45")
def test_a_retry_waits_as_the_attempt_asks_or_longer_each_time_up_to_a_limit() -> None:
    topic = Topic(JobQueue(name="q", topics=("**",), delay_ms=1000))
    [job] = topic.add("a")
    topic.lease()
    topic.end(job, outcome=Outcome.FAILED, ends=[JobEnd(job=0, retry_ms=70)])
    assert topic.jobs.waiting.due_ms(job) == topic.ms + 70
    queue = JobQueue(name="q", delay_ms=1000, growth_percent=300, delay_max_ms=20_000)
    for attempts, delay_ms in enumerate((1000, 3000, 9000, 20_000, 20_000), 1):
        waits = {retry_ms(queue, job, attempts) for job in range(1000)}
        assert min(waits) >= delay_ms
        assert delay_ms < max(waits) <= delay_ms * (100 + JITTER_PERCENT) // 100


@pytest.mark.proves("J46")
def test_a_changed_limit_of_retries_holds_for_jobs_that_were_added_before() -> None:
    topic = Topic(JobQueue(name="q", topics=("**",), retries=5))
    [job] = topic.add("a")
    topic.see(JobCommandMessage(configure=JobQueue(name="q", topics=("**",), retries=0)))
    topic.lease()
    topic.end(job, outcome=Outcome.FAILED)
    assert topic.jobs.state_of(job) is JobState.GIVEN_UP


@pytest.mark.proves("J100")
def test_a_rate_holds_in_any_period_also_through_another_dispatcher_and_a_clock_that_is_set_back() -> None:
    topic = Topic(JobQueue(name="q", topics=("**",), rate=3, rate_ms=1000))
    jobs = topic.add(*"aaaaaaaaaa")
    assert topic.lease() == jobs[:3]
    assert topic.lease() == []
    assert topic.planner.next_ms == topic.ms + 1000
    lease = JobsLeasedMessage(
        cluster_log="log", epoch=1, dispatcher="d", workers=("one",), worker_of=(0,), jobs=(jobs[3],),
        read_to=topic.offset, read_ms=topic.ms,
    )  # fmt: skip
    assert topic.see(lease) == {jobs[3]: "queue q has had its starts"}
    topic.ms -= 60_000  # the clock of the next dispatcher
    topic.see(JobsLeasedMessage(cluster_log="log", epoch=2, dispatcher="d"))
    topic.see(JobsLeasedMessage(cluster_log="log", epoch=2, dispatcher="other"))
    topic.planner = Planner(topic.jobs)
    assert topic.planner.plan(topic.ms) == []
    assert topic.planner.plan(topic.ms + 999) == []
    assert [job for job, _ in topic.planner.plan(topic.ms + 1000)] == jobs[3:6]


def test_a_queue_with_a_rate_goes_on_after_a_period_when_the_clock_of_its_dispatcher_is_set_back() -> None:
    topic = Topic(JobQueue(name="q", topics=("**",), rate=3, rate_ms=1000))
    jobs = topic.add(*"aaaaaaa")
    topic.ms = 3_600_000
    assert topic.lease() == jobs[:3]
    topic.ms = 1000
    early = JobsLeasedMessage(
        cluster_log="log", epoch=1, dispatcher="d", workers=("one",), worker_of=(0,), jobs=(jobs[3],),
        read_to=topic.offset, read_ms=3_600_000,
    )  # fmt: skip
    assert topic.see(early) == {jobs[3]: "queue q has had its starts"}, "those by the former time count as of now"
    topic.ms += 200
    assert topic.lease() == []
    topic.ms += 700
    assert topic.lease() == []
    assert topic.planner.next_ms == 2000
    topic.ms = 2000
    assert topic.lease() == jobs[3:6]
    assert topic.lease() == []


def test_starts_are_remembered_by_parts_of_the_period_and_never_too_early() -> None:
    topic = Topic(JobQueue(name="q", topics=("**",), rate=1000, rate_ms=10_000, cluster_parallel=1))
    starts = list[int]()
    topic.add(*"a" * 900)
    while job := topic.lease():
        starts += [topic.ms] * len(job)
        topic.end(*job)
        topic.ms += 7
    assert len(starts) == 900
    assert len(list(topic.jobs.rates)) <= 102


def test_an_outcome_does_not_count_for_a_lease_at_the_same_offset_of_a_replaced_topic() -> None:
    former, present = Topic(), Topic()
    present.ms += 1
    for topic in (former, present):
        topic.add("a")
        topic.lease()
    (job,) = present.jobs.leases
    ended = JobsEndedMessage(
        worker="one", jobs=(job,), leases=tuple(former.jobs.leased_to["one"].values()),
        outcomes=(Outcome.SUCCEEDED,), run_ms=(1,),
    )  # fmt: skip

    assert present.see(ended) == {job: "worker one has no such lease on it"}
    assert former.see(ended) == {}
