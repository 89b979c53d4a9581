"""Workers in virtual time that write snapshots all the time, are killed meanwhile, and begin with them."""

from dataclasses import replace
from itertools import count

import pytest

from callboard.actors.jobs.jobs import Jobs
from callboard.actors.jobs.snapshots import search, taking
from callboard.actors.jobs.worker import snapshotting
from callboard.actors.jobs.worker.roles import DISPATCHER
from callboard.backends.log import Bounds
from callboard.messages.jobs.job_messages import (
    JOB_MESSAGES,
    JobCommandMessage,
    JobQueue,
    JobsAddedMessage,
    JobsSnapshotMessage,
)
from callboard.messages.jobs.limits import check_message
from callboard.messages.reading import read
from callboard.testing.simulation.jobs.plan import plan
from callboard.testing.simulation.jobs.run import run
from tests.simulation.jobs.fleet import TOPIC, Fleet

loaded = search.loaded


@pytest.fixture(autouse=True)
def begun(monkeypatch: pytest.MonkeyPatch) -> list[Jobs]:
    """The snapshots that were begun with; they are small, many, and in several parts."""
    found = list[Jobs]()

    def noted(contents: list[bytes]) -> Jobs:
        found.append(loaded(contents))
        return found[-1]

    monkeypatch.setattr(search, "loaded", noted)
    monkeypatch.setattr(search, "RANGE", 5)
    monkeypatch.setattr(taking, "PART_BYTES", 400)
    monkeypatch.setattr(snapshotting, "COST_MIN", 5000)
    return found


def test_all_jobs_end_once_whatever_happens_to_workers_that_write_snapshots(begun: list[Jobs]) -> None:
    for seed in range(3):
        outcome = run(replace(plan(seed), snapshots=False))  # those of this module are smaller
        assert outcome.violation is None, outcome.story
    assert len(begun) > 3


def add(fleet: Fleet, number: int, many: int) -> None:
    fleet.say(JobsAddedMessage(
        request=f"{number}", creator="test", topics=("b",), topic_of=(0,) * many,
        payloads=(b'{"run_s": 0.01, "fails": 0, "delay_s": 0}',) * many,
    ))  # fmt: skip


def bounds(fleet: Fleet) -> Bounds:
    return fleet.simulation.run(fleet.log.bounds(TOPIC))


@pytest.mark.proves("J73", "J75")
def test_a_topic_with_a_job_an_hour_for_a_year_stays_short(monkeypatch: pytest.MonkeyPatch, begun: list[Jobs]) -> None:
    monkeypatch.setattr(snapshotting, "KEEP_S", 30.0)
    monkeypatch.setattr(snapshotting, "REQUEST_COST", 0)
    fleet, longest = Fleet(1), 0
    try:
        fleet.say(JobCommandMessage(configure=JobQueue(name="all", topics=("**",), keep_ms=10_000)))
        fleet.start("x", 20)
        fleet.start("y", 20)
        for number in range(365):
            add(fleet, number, 24)
            fleet.simulation.run_for(10)
            if number % 20 == 19:
                fleet.simulation.run(fleet.agents["xy"[number // 20 % 2]].kill(DISPATCHER))
            first, end = bounds(fleet)
            longest = max(longest, end - first)
        fleet.simulation.run_for(10)
        assert len(fleet.runs) == len(set(fleet.runs)) == 24 * 365
        assert end > 2000
        assert longest < 400
        assert len(begun) > 5
        assert not fleet.failures()
    finally:
        fleet.close()


def test_a_dispatcher_that_is_lost_within_a_snapshot_is_followed_by_one_that_begins_anew_and_trims(
    monkeypatch: pytest.MonkeyPatch, begun: list[Jobs]
) -> None:
    monkeypatch.setattr(snapshotting, "KEEP_S", 5.0)
    monkeypatch.setattr(taking, "PART_BYTES", 50)
    fleet, numbers = Fleet(2), count()
    try:
        fleet.say(JobCommandMessage(configure=JobQueue(name="all", topics=("**",), keep_ms=1)))
        fleet.start("x", 2)
        fleet.simulation.run_for(5)  # until it knows that it dispatches
        while not (parts := written(fleet)):
            add(fleet, next(numbers), 3)
            fleet.simulation.run_for(0.001)
        assert not parts[-1].parts
        fleet.crash("x")
        fleet.start("y", 2)
        for _ in range(30):
            add(fleet, next(numbers), 3)
            fleet.simulation.run_for(5)
        assert bounds(fleet).first > 1
        fleet.start("z", 2)
        fleet.simulation.run_for(10)
        assert begun
        assert not fleet.failures()
    finally:
        fleet.close()


def written(fleet: Fleet) -> list[JobsSnapshotMessage]:
    """The parts of snapshots."""
    first, end = bounds(fleet)
    found = [
        read(each, JOB_MESSAGES, check_message) for each in fleet.simulation.run(fleet.log.read(TOPIC, first, end))
    ]
    return [each for each in found if isinstance(each, JobsSnapshotMessage)]
