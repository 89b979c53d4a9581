"""What a change of the cluster costs while many jobs wait: no job is allotted before it starts, so none is moved."""

import json
from collections import Counter
from collections.abc import Iterator

import pytest

from callboard.messages.event import Event
from callboard.messages.headers import open_record
from callboard.messages.jobs.job_messages import (
    BATCH_MAX,
    JOB_MESSAGES,
    JobsAddedMessage,
    JobsEndedMessage,
    JobsLeasedMessage,
    WorkerGoneMessage,
    WorkerMessage,
)
from callboard.messages.jobs.progress_messages import JobsProgressedMessage
from tests.simulation.jobs.fleet import TOPIC, Fleet

SLOTS = 4
TURNS = 10_000_000


@pytest.fixture
def fleet() -> Iterator[Fleet]:
    found = Fleet(5)
    found.order.clear()
    found.simulation.loop.allow(TURNS)
    yield found
    found.close()


def add(fleet: Fleet, run_s: list[float]) -> None:
    """Add jobs that take this long."""
    for begin in range(0, len(run_s), BATCH_MAX):
        batch = run_s[begin : begin + BATCH_MAX]
        payloads = tuple(json.dumps({"run_s": each, "fails": 0, "delay_s": 0}).encode() for each in batch)
        topics = (0,) * len(batch)
        fleet.say(JobsAddedMessage(request=str(begin), creator="c", topics=("b",), topic_of=topics, payloads=payloads))


def messages(fleet: Fleet, after: int) -> list[Event]:
    """The messages on the job topic from this offset on."""
    found = fleet.simulation.run(fleet.log.read(TOPIC, after, 1_000_000))
    return [open_record(record, JOB_MESSAGES) for record in found]


def end(fleet: Fleet) -> int:
    return fleet.simulation.run(fleet.log.bounds(TOPIC))[1]


def ended(fleet: Fleet, after: int) -> Counter[str]:
    """How many jobs each instance has reported from this offset on."""
    found = Counter[str]()
    for message in messages(fleet, after):
        if isinstance(message, JobsEndedMessage):
            found[message.worker.partition("#")[0]] += len(message.jobs)
    return found


@pytest.mark.proves("J97")
def test_a_newcomer_runs_its_share_of_the_jobs_that_wait(fleet: Fleet) -> None:
    add(fleet, [fleet.rng.choice([0.01, 0.1, 1.0]) for _ in range(1000)])
    fleet.start("old", SLOTS)
    fleet.simulation.run_for(10)
    joined = end(fleet)

    fleet.start("new", SLOTS)
    fleet.simulation.run_until(lambda: len(fleet.successes) == 1000, 1000)
    fleet.simulation.run_for(1)

    shares = ended(fleet, joined)
    assert shares["old"] > 0
    assert 0.8 < shares["new"] / shares["old"] < 1.25
    assert len(fleet.runs) == 1000


@pytest.mark.proves("J97")
def test_workers_of_unequal_speed_are_busy_to_the_end(fleet: Fleet) -> None:
    for name, slots in (("large", 8), ("small", 2)):
        fleet.start(name, slots)
    fleet.simulation.run_for(10)
    run_s = [fleet.rng.choice([0.2, 2.0]) for _ in range(1000)]
    begun_s = fleet.simulation.clock.now().mono_s
    add(fleet, run_s)
    fleet.simulation.run_until(lambda: len(fleet.successes) == 1000, 1000)

    took_s = fleet.simulation.clock.now().mono_s - begun_s
    assert took_s < sum(run_s) / 10 + max(run_s) + 2, "a slot was idle while jobs waited"


@pytest.mark.proves("J98")
def test_what_a_crash_writes_does_not_grow_with_the_jobs_that_wait() -> None:
    assert after_a_crash(waiting=1000) == after_a_crash(waiting=50_000)


def after_a_crash(waiting: int) -> tuple[Counter[type[Event]], int]:
    """The records from a worker's crash until what it had runs elsewhere, and how many jobs were moved."""
    fleet = Fleet(5)
    fleet.order.clear()
    fleet.simulation.loop.allow(TURNS)
    try:
        for name in ("stays", "crashes"):
            fleet.start(name, SLOTS)
        fleet.simulation.run_for(10)
        add(fleet, [1000.0] * waiting)
        fleet.simulation.run_for(10)
        assert len(fleet.runs) == 2 * SLOTS
        crashed = end(fleet)
        fleet.crash("crashes")
        fleet.start("comes", SLOTS)
        fleet.simulation.run_for(30)
        assert len(fleet.runs) == 3 * SLOTS
        written = messages(fleet, crashed)
    finally:
        fleet.close()
    kinds = Counter(map(type, written))
    assert set(kinds) <= {WorkerGoneMessage, WorkerMessage, JobsLeasedMessage, JobsProgressedMessage}
    return kinds, sum(len(each.jobs) for each in written if isinstance(each, JobsLeasedMessage))
