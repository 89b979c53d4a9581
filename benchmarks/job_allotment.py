"""What changes of the cluster do to a backlog of jobs, in callboard and where jobs are allotted when they are added.

Usage: ``python benchmarks/job_allotment.py``, 1 minute, in virtual time. callboard's are the real workers; the model is
of the rules of Apache Sling: a job is allotted to the instances in turn when it is added, and stays there. When an
instance has gone, all queues stop for 10 s, then the leader copies and deletes its jobs one by one.
"""

import heapq
import json
import sys
from itertools import cycle
from pathlib import Path
from random import Random

from report import Report

sys.path.insert(0, str(Path(__file__).parent.parent))
from callboard.messages.headers import open_record
from callboard.messages.jobs.job_messages import (
    BATCH_MAX,
    JOB_MESSAGES,
    JobsAddedMessage,
    JobsEndedMessage,
    JobsLeasedMessage,
)
from tests.simulation.jobs.fleet import TOPIC, Fleet

JOBS, SLOTS = 4000, 4
RUN_S = (0.01, 0.1, 1.0)
SETTLE_S = 10.0
MOVE_S = 0.004
"""A copy, a delete and a commit: two durable writes of the SQLite log."""

CHANGE_S = 20.0
SCENARIOS = {"two instances, no change": ("", ""), "a third one joins": ("c", ""), "one of two goes": ("", "b")}


class Model:
    """Instances with jobs of their own; each has free slots at some times."""

    def __init__(self, run_s: list[float], joins: str, goes: str) -> None:
        self.jobs: dict[str, list[float]] = {"a": [], "b": []}
        for name, each in zip(cycle("ab"), run_s, strict=False):
            self.jobs[name].append(each)
        self.moved = 0
        self.ends = {name: self.run(name, 0.0, CHANGE_S if goes == name else float("inf")) for name in self.jobs}
        if joins:
            self.ends[joins] = CHANGE_S  # nothing is left for it
        if goes:
            left, self.jobs[goes] = self.jobs[goes], []
            self.moved = len(left)
            del self.ends[goes]
            first = CHANGE_S + SETTLE_S + self.moved * MOVE_S
            self.jobs["a"] = left
            self.ends["a"] = self.run("a", max(first, self.ends["a"] + SETTLE_S), float("inf"))

    def run(self, name: str, begin: float, until: float) -> float:
        """Run its jobs, those that begin before ``until``; returns when the last one ends."""
        slots = [begin] * SLOTS
        while self.jobs[name] and slots[0] < until:
            heapq.heapreplace(slots, slots[0] + self.jobs[name].pop(0))
        return max(slots)


def of_callboard(run_s: list[float], joins: str, goes: str) -> tuple[float, float, int]:
    """Seconds until the last job has ended, seconds for which a worker had ended and another had not, jobs leased
    more than once.
    """
    fleet = Fleet(5)
    fleet.order.clear()
    fleet.simulation.loop.allow(100_000_000)
    now = fleet.simulation.clock.now
    for name in "ab":
        fleet.start(name, SLOTS)
    fleet.simulation.run_for(5)
    for begin in range(0, len(run_s), BATCH_MAX):
        batch = run_s[begin : begin + BATCH_MAX]
        payloads = tuple(json.dumps({"run_s": each, "fails": 0, "delay_s": 0}).encode() for each in batch)
        topics = (0,) * len(batch)
        fleet.say(JobsAddedMessage(request=str(begin), creator="c", topics=("b",), topic_of=topics, payloads=payloads))
    begun = now()
    fleet.simulation.run_for(CHANGE_S)
    if joins:
        fleet.start(joins, SLOTS)
    if goes:
        fleet.crash(goes)
        fleet.simulation.run_for(0)
    fleet.simulation.run_until(lambda: len({job for job, _ in fleet.successes}) == len(run_s), 10_000)
    took_s = now().mono_s - begun.mono_s
    last, leased = dict[str, int](), 0
    for record in fleet.simulation.run(fleet.log.read(TOPIC, 1, 10_000_000)):
        message = open_record(record, JOB_MESSAGES)
        if isinstance(message, JobsEndedMessage):
            last[message.worker.partition("#")[0]] = record.time_ns
        elif isinstance(message, JobsLeasedMessage):
            leased += len(message.jobs)
    fleet.close()
    ends = [at for name, at in last.items() if name != goes]
    return took_s, (max(ends) - min(ends)) / 1e9, leased - len(run_s)


def main() -> None:
    report = Report("job_allotment")
    rng = Random(1)
    backlogs = {"by chance": [rng.choice(RUN_S) for _ in range(JOBS)], "long ones for b": [0.05, 0.5] * (JOBS // 2)}
    for what, run_s in backlogs.items():
        for how, (joins, goes) in SCENARIOS.items():
            took_s, idle_s, moved = of_callboard(run_s, joins, goes)
            model = Model(run_s, joins, goes)
            where = f"{JOBS:,} jobs, {what}; {how}"
            report.row(f"until the end: {where}", [took_s], [max(model.ends.values())], unit="s", peer_name="allotted",
                       note="less is better")  # fmt: skip
            uneven_s = max(model.ends.values()) - min(model.ends.values())
            for question, ours, peer, unit in (
                ("one has nothing to do", idle_s, uneven_s, "s"),
                ("jobs moved (callboard: those that ran)", moved, model.moved, "jobs"),
            ):
                if ours or peer:
                    report.row(f"{question}: {where}", [ours], [peer] if peer else (), unit=unit, peer_name="allotted")
    report.write()


if __name__ == "__main__":
    main()
