"""Schedules over the fold, with a clock of the test: each tick adds its jobs once, whoever leads."""

from datetime import UTC, datetime
from random import Random

import pytest

from callboard.actors.core.decision import Moment
from callboard.actors.jobs.jobs import At, Jobs
from callboard.actors.jobs.rules.reducer import apply
from callboard.actors.jobs.schedules.ticker import BYTES_MAX, ON_TIME_MS, TICKS_MAX, Ticker
from callboard.actors.jobs.schedules.ticks import latest_ticks
from callboard.actors.jobs.snapshots.search import Snapshot
from callboard.actors.jobs.worker.dispatching import NOBODY, Dispatching
from callboard.actors.jobs.worker.settings import WorkerSettings
from callboard.messages.event import Event, replaced
from callboard.messages.jobs.job_mail import TellCluster
from callboard.messages.jobs.job_messages import (
    JobOptions,
    JobsAddedMessage,
    JobsLeasedMessage,
    ScheduleCommandMessage,
    ScheduleMessage,
    WorkerMessage,
)
from callboard.messages.jobs.limits import check_message

BEGIN = int(datetime(2026, 5, 1, 12, tzinfo=UTC).timestamp() * 1000)
MINUTE, HOUR = 60_000, 3_600_000


class Cluster:
    """One log, and a clock."""

    def __init__(self) -> None:
        self.jobs, self.ms, self.offset = Jobs(), BEGIN, 0
        self.ticker = Ticker(self.jobs)

    def see(self, message: Event) -> dict[int, str]:
        check_message(message)
        self.offset += 1
        return apply(self.jobs, At(self.offset, self.ms), message)

    def set(self, name: str = "s", **rule: object) -> None:
        assert not self.see(ScheduleMessage(name=name, topic="a", **rule))  # type: ignore[arg-type] # given by tests

    def tick(self, after_ms: int = 0, ticker: Ticker | None = None) -> list[int]:
        """Go on by so long; returns the ticks whose jobs are added, in minutes since the beginning."""
        self.ms += after_ms
        ticker, ticks = ticker or self.ticker, list[int]()
        while (next_ms := ticker.next_ms) is not None and next_ms <= self.ms:
            added = ticker.due(self.ms, "leader")
            ticks += [(each.tick_ms - BEGIN) // MINUTE for each in added if not self.see(each)]
            ticker.end()
        return ticks


def hourly(**options: object) -> Cluster:
    cluster = Cluster()
    cluster.set(cron=("0 * * * *",), **options)
    return cluster


def test_a_tick_adds_its_jobs_once_when_it_is_due() -> None:
    cluster = hourly(payload=b"1", options=JobOptions(job=0, priority=7))
    assert cluster.tick(HOUR - 1) == []
    assert cluster.tick(1) == [60]
    assert cluster.tick() == cluster.tick(HOUR - 1) == []
    assert cluster.tick(1) == [120]
    [first, _] = cluster.jobs.table.ids
    assert cluster.jobs.options[first].priority == 7


def test_missed_ticks_are_made_up_for_as_the_schedule_says() -> None:
    late = 5 * HOUR + 10 * MINUTE
    assert hourly().tick(late) == [300]
    assert hourly(catch_up=3).tick(late) == [180, 240, 300]
    assert hourly(catch_up=100).tick(late) == [60, 120, 180, 240, 300]
    skipping = hourly(catch_up=0)
    assert skipping.tick(late) == []
    assert skipping.tick(50 * MINUTE + ON_TIME_MS - 1) == [360]


@pytest.mark.proves("J81")
def test_a_single_tick_is_late_rather_than_missed_and_removes_its_schedule() -> None:
    for catch_up in (0, 1, 5):
        cluster = Cluster()
        cluster.set(at_ms=BEGIN + HOUR, catch_up=catch_up)
        assert cluster.tick(30 * HOUR) == [60]
        assert not list(cluster.jobs.schedules)
        assert cluster.tick(HOUR) == []
    cluster.set(at_ms=cluster.ms - MINUTE)  # its time passed while it was appended
    assert len(cluster.tick()) == 1


@pytest.mark.proves("J80")
def test_another_leader_neither_repeats_a_tick_nor_loses_one() -> None:
    cluster = hourly(catch_up=10)
    other = Ticker(cluster.jobs)
    cluster.ms += HOUR
    stale = cluster.ticker.due(cluster.ms, "leader")  # it is on its way to the log when another one takes over
    cluster.jobs.schedules.changed.add("s")  # each process has a fold of its own
    assert cluster.tick(2 * HOUR, other) == [60, 120, 180]
    [text] = cluster.see(stale[0]).values()
    assert text == f"schedule 's' has had its tick at {BEGIN + HOUR}, or did not exist then"
    assert len(cluster.jobs.table) == 3


def test_what_an_append_that_failed_had_not_added_is_added_again() -> None:
    cluster = hourly()
    cluster.ms += HOUR
    assert len(cluster.ticker.due(cluster.ms, "leader")) == 1
    assert cluster.ticker.due(cluster.ms, "leader") == ()
    cluster.ticker.end()
    assert cluster.tick() == [60]


def test_a_clock_that_is_set_back_repeats_nothing_and_one_that_is_set_ahead_misses_by_the_policy() -> None:
    cluster = hourly(catch_up=2)
    assert cluster.tick(10 * HOUR) == [540, 600]
    assert cluster.tick(-3 * HOUR) == []
    assert cluster.tick(3 * HOUR) == []
    assert cluster.tick(HOUR) == [660]
    cluster.ms -= 3 * HOUR
    cluster.see(ScheduleCommandMessage(suspend="s"))
    cluster.see(ScheduleCommandMessage(resume="s"))  # the way out if it had been far ahead
    assert cluster.tick(HOUR) == [540]


@pytest.mark.proves("J82")
def test_a_suspended_schedule_adds_nothing_and_goes_on_from_where_it_is_resumed() -> None:
    cluster = hourly(catch_up=10)
    cluster.see(ScheduleCommandMessage(suspend="s"))
    assert cluster.tick(5 * HOUR) == []
    cluster.set(cron=("0 * * * *",), catch_up=10, author="another")
    cluster.set(cron=("30 * * * *",), catch_up=10)
    assert cluster.tick(HOUR) == []
    late = JobsAddedMessage(
        request="", creator="c", topics=("a",), topic_of=(0,), payloads=(b"",), schedule="s", tick_ms=cluster.ms
    )
    assert cluster.see(late) == {-1: "schedule 's' is suspended"}
    cluster.see(ScheduleCommandMessage(resume="s"))
    told = "was changed by the record at offset"
    assert told in cluster.see(replaced(late, tick_ms=cluster.ms + MINUTE, schedule_set=2))[-1], "by an old plan"
    assert cluster.tick(30 * MINUTE) == [390]
    assert cluster.see(ScheduleCommandMessage(resume="s", suspend="other")) == {-1: "there is no schedule 'other'"}
    cluster.see(ScheduleCommandMessage(remove="s"))
    assert cluster.tick(HOUR) == []
    assert cluster.see(late) == {-1: "there is no schedule 's'"}


@pytest.mark.proves("J78")
def test_the_same_again_changes_nothing_and_something_else_counts_from_then_on() -> None:
    cluster = Cluster()
    cluster.set(every_ms=HOUR)
    cluster.ms += 30 * MINUTE
    cluster.set(every_ms=HOUR, author="another")
    assert cluster.tick(30 * MINUTE) == [60]
    cluster.ms += 30 * MINUTE
    cluster.set(every_ms=2 * HOUR)
    assert cluster.tick(HOUR) == []
    assert cluster.tick(HOUR) == [210]


def test_thousands_that_are_due_at_once_are_added_in_batches() -> None:
    cluster = Cluster()
    for number in range(3 * TICKS_MAX):
        cluster.set(f"s{number}", cron=("0 * * * *",))
    cluster.set("large", cron=("0 * * * *",), payload=b"x" * 16_000, catch_up=1000)
    assert cluster.tick() == []
    cluster.ms += 200 * HOUR
    most = 0
    while cluster.ticker.next_ms is not None and cluster.ticker.next_ms <= cluster.ms:
        added = cluster.ticker.due(cluster.ms, "leader")
        assert len(added) <= TICKS_MAX
        assert sum(len(each.payloads[0]) for each in added) <= BYTES_MAX + 16_000
        most = max(most, len(added))
        assert not any(cluster.see(each) for each in added)
        cluster.ticker.end()
    assert most == TICKS_MAX
    assert len(cluster.jobs.table) == 3 * TICKS_MAX + 200


def test_a_schedule_with_something_unknown_blocks_no_other_and_is_told_about() -> None:
    cluster = Cluster()
    cluster.set("odd", cron=("0 * * * *",), zone="Mars/Base")
    cluster.set("wrong", cron=("never",))
    cluster.set("good", cron=("0 * * * *",))
    assert cluster.tick(HOUR) == [60]
    assert sorted(cluster.ticker.problems) == [
        ("odd", "the time zone 'Mars/Base' is unknown on this machine"),
        ("wrong", "'never' is no cron expression: Wrong number of fields"),
    ]


class Host:
    """A process that believes that it leads, with a clock of its own; it reads the log late, and its appends fail."""

    def __init__(self, log: list[Event], rng: Random) -> None:
        self.log, self.rng, self.read = log, rng, 0
        self.jobs, self.ms, self.highest_ms = Jobs(), BEGIN, BEGIN
        self.ticker = Ticker(self.jobs)
        self.ticks = list[int]()

    def catch_up(self, end: int) -> None:
        for offset in range(self.read, end):
            message = self.log[offset]
            refused = apply(self.jobs, At(offset, BEGIN), message)
            if isinstance(message, JobsAddedMessage) and not refused:
                self.ticks.append(message.tick_ms)
        self.read = max(self.read, end)

    def lead(self) -> None:
        self.highest_ms = max(self.highest_ms, self.ms)
        added = self.ticker.due(self.ms, "host")
        if self.rng.random() < 0.7:
            self.log.extend(added)
        if self.rng.random() < 0.5:  # else it is told that the append failed
            self.catch_up(len(self.log))
        self.ticker.end()


@pytest.mark.proves("J80")
@pytest.mark.parametrize("seed", range(40))
def test_hosts_that_all_believe_to_lead_add_each_tick_once(seed: int) -> None:
    rng = Random(seed)
    rule = rng.choice([{"cron": ("*/7 * * * *", "0 12 * * *"), "zone": "Europe/Berlin"}, {"every_ms": 90_000}])
    log: list[Event] = [ScheduleMessage(name="s", topic="a", catch_up=1000, **rule)]
    hosts = [Host(log, rng) for _ in range(3)]
    for _ in range(60):
        host = rng.choice(hosts)
        host.ms += rng.choice([0, MINUTE, 20 * MINUTE, HOUR, -HOUR])
        host.catch_up(rng.randint(host.read, len(log)))
        host.lead()
    host.catch_up(len(log))
    host.ms = max(each.highest_ms for each in hosts)
    host.rng = Random(0)
    while (next_ms := host.ticker.next_ms) is not None and next_ms <= host.ms:
        host.lead()
    host.catch_up(len(log))
    schedule = host.jobs.schedules.get("s")
    assert schedule is not None
    assert tuple(host.ticks) == latest_ticks(schedule.message, BEGIN, BEGIN, host.ms, 100_000)


def test_the_leader_leases_what_is_ready_together_with_the_ticks_that_are_due() -> None:
    cluster = hourly()
    leader = Dispatching(WorkerSettings("t.job", "web-1"), Snapshot("log", -1, cluster.jobs), NOBODY)
    cluster.see(WorkerMessage(instance="web-1", incarnation="w", slots=1, topics=("**",)))
    cluster.see(JobsAddedMessage(request="r", creator="c", topics=("a",), topic_of=(0,), payloads=(b"",)))

    def said() -> list[type[Event]]:
        messages = leader.next(Moment(cluster.ms * 1_000_000, 0.0))
        for each in messages:
            cluster.see(each)
        if messages:
            leader.appended((cluster.offset,))
            leader.read(cluster.offset)
        return [type(each) for each in messages]

    cluster.ms += HOUR
    assert said() == []
    assert leader.next_due_ms is None  # others' business
    leader.told = TellCluster(cluster_log="log", epoch=1, incarnation="w", standing=True, members=("w",))
    assert said() == [JobsLeasedMessage]  # takes the place of the former dispatcher
    assert leader.next_due_ms == 0
    assert said() == [JobsAddedMessage, JobsLeasedMessage]
    said()
    assert leader.next_due_ms == cluster.ms + HOUR
