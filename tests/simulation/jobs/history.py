"""A random history of a fleet of workers, and what must hold in it: an oracle of plain rules reads the whole topic."""

import json
from collections import Counter

from callboard.actors.jobs.jobs import At, Jobs
from callboard.actors.jobs.reducer import apply
from callboard.actors.jobs.worker.roles import DISPATCHER, REPORTER
from callboard.actors.runtime.simulated.virtual_loop import BusyError, StuckError
from callboard.messages.jobs.job_messages import (
    JOB_MESSAGES,
    JobCommandMessage,
    JobOptions,
    JobQueue,
    JobsAddedMessage,
    JobsEndedMessage,
    QueueOrder,
)
from callboard.messages.jobs.job_state import JobState
from callboard.messages.jobs.limits import check_message
from callboard.messages.reading import Unread, read
from tests.simulation.jobs.fleet import TOPIC, Fleet
from tests.unit.actors.jobs.plain_jobs import PlainJobs

QUEUES = (
    JobQueue(name="limited", topics=("a/limited",), cluster_parallel=3, parallel=2, crashes=200, delay_ms=50),
    JobQueue(name="ordered", topics=("a/ordered",), order=QueueOrder.ORDERED, crashes=200, delay_ms=50),
    JobQueue(name="rest", topics=("**",), crashes=200, delay_ms=50),
)
TOPICS = ("a/limited", "a/ordered", "b")
ACTS = 40
TURNS = 60_000
"""Of the event loop, several times what the busiest history takes: one that needs more spins."""
CALM_S = 200.0
"""Virtual seconds in which all jobs end once there are no more faults."""


class Broken(AssertionError):
    """Something did not hold."""


def check(holds: object, rule: str) -> None:
    if not holds:
        raise Broken(rule)


class History:
    """Acts that a seed decides."""

    def __init__(self, seed: int) -> None:
        self.fleet = Fleet(seed)
        self.rng = self.fleet.rng
        self.commanded: set[int] = set()
        self.forget()

    def forget(self) -> None:
        """Begin to count jobs."""
        self.jobs: list[int] = []
        self._read, self._next = Jobs(), 1
        self._left_now: dict[int, JobState] | None = None

    def run(self) -> None:
        """Play it, then let all jobs end. Raises ``Broken``."""
        fleet = self.fleet
        fleet.simulation.loop.allow(TURNS)
        try:
            for queue in QUEUES:
                fleet.say(JobCommandMessage(configure=queue))
            for name in "xyz":
                fleet.start(name, self.rng.randint(1, 4))
            for _ in range(ACTS):
                self.act()
                fleet.simulation.run_for(self.rng.choice([0.0, 0.01, 0.1, 0.5, 2.0]))
            fleet.calm()
            if not fleet.workers:
                fleet.start("last", 2)
            fleet.simulation.run_until(lambda: not fleet.is_stopping, CALM_S)
            fleet.simulation.run_until(self.all_ended, CALM_S)
            fleet.simulation.run_for(10)
            check(not fleet.failures(), f"a worker failed: {fleet.failures()}")
            self.account()
        except TimeoutError:
            raise Broken(f"jobs do not end: {self.left()}; {fleet.failures()}") from None
        except (BusyError, StuckError) as error:
            raise Broken(str(error)) from error
        finally:
            fleet.close()

    def act(self) -> None:
        acts = [self.add] * 4 + [self.kill] * 3 + [self.cut, self.lose, self.lose, self.slow, self.mend]
        acts += [self.command, self.leave, self.crash, self.evict, self.join]
        self.rng.choice(acts)()

    def any_worker(self) -> str | None:
        return self.rng.choice(sorted(self.fleet.workers)) if self.fleet.workers else None

    def add(self) -> None:
        rng, many = self.rng, self.rng.randint(1, 8)
        payloads = [
            {"run_s": rng.choice([0.001, 0.02, 0.3, 4.0]), "fails": rng.choice([0, 0, 0, 1, 2]),
             "delay_s": rng.choice([None, 0.0, 0.2])}
            for _ in range(many)
        ]  # fmt: skip
        now_ms = self.fleet.simulation.clock.now().wall_ns // 1_000_000
        options = tuple(
            JobOptions(job=place, lane=rng.choice(["", "one", "two"]), due_ms=rng.choice([0, now_ms + 700]))
            for place in range(many)
            if rng.random() < 0.5
        )
        added = JobsAddedMessage(
            request=f"{rng.getrandbits(64)}", creator="test", topics=TOPICS,
            topic_of=tuple(rng.randrange(len(TOPICS)) for _ in range(many)),
            payloads=tuple(json.dumps(each).encode() for each in payloads), options=options,
        )  # fmt: skip
        self.jobs += self.fleet.ids(self.fleet.say(added), many)
        if rng.random() < 0.2:
            self.fleet.say(added)  # once more, as after an append with an unknown outcome

    def kill(self) -> None:
        if name := self.any_worker():
            self.fleet.simulation.run(self.fleet.agents[name].kill(self.rng.choice([DISPATCHER, REPORTER])))

    def cut(self) -> None:
        if name := self.any_worker():
            self.fleet.ways[name].is_cut = True

    def lose(self) -> None:
        if name := self.any_worker():
            self.fleet.ways[name].lossy = self.rng.choice([0.3, 0.9])

    def slow(self) -> None:
        if name := self.any_worker():
            way = self.fleet.ways[name]
            way.append_s, way.read_s = self.rng.choice([(0.5, 0.0), (0.0, 0.5), (2.0, 2.0)])

    def mend(self) -> None:
        self.fleet.calm()

    def command(self) -> None:
        if self.jobs:
            job = self.rng.choice(self.jobs)
            self.commanded.add(job)
            self.fleet.say(self.rng.choice([JobCommandMessage(stop=(job,)), JobCommandMessage(drop=(job,))]))

    def leave(self) -> None:
        if name := self.any_worker():
            self.fleet.stop(name)

    def crash(self) -> None:
        if name := self.any_worker():
            self.fleet.crash(name)

    def evict(self) -> None:
        if name := self.any_worker():
            self.fleet.evict(name)

    def join(self) -> None:
        if len(self.fleet.workers) < 4:
            free = [name for name in "xyzuvw" if name not in self.fleet.workers]
            self.fleet.start(self.rng.choice(free), self.rng.randint(1, 4))

    # The oracle.

    async def records(self, start: int = 1) -> list[tuple[int, int, object]]:
        found = await self.fleet.log.read(TOPIC, start, max_records=1_000_000, max_bytes=1 << 40)
        return [(each.offset, each.time_ns // 1_000_000, read(each, JOB_MESSAGES, check_message)) for each in found]

    async def all_ended(self) -> bool:
        return not await self._left()

    async def _left(self) -> dict[int, JobState]:
        for offset, ms, message in await self.records(self._next):
            apply(self._read, At(offset, ms), message)  # type: ignore[arg-type]
            self._next, self._left_now = offset + 1, None
        if self._left_now is None:
            states = {job: self._read.state_of(job) or JobState.QUEUED for job in self.jobs}
            self._left_now = {job: state for job, state in states.items() if not state.is_final}
        return self._left_now

    def left(self) -> dict[int, JobState]:
        return self.fleet.simulation.run(self._left())

    def account(self) -> None:
        plain, jobs, final = PlainJobs(), Jobs(), dict[int, JobState]()
        for offset, ms, message in self.fleet.simulation.run(self.records()):
            check(not isinstance(message, Unread), f"{message} is unread")
            before = {job: its.lease for job, its in plain.jobs.items() if its.worker}
            plain.see(offset, ms, message)  # type: ignore[arg-type]
            apply(jobs, At(offset, ms), message)  # type: ignore[arg-type]
            for job, its in plain.jobs.items():
                check(final.get(job, its.state) == its.state, f"{job} ended twice")
                if its.state.is_final and job not in final:
                    final[job] = its.state
                    self._has_run(job, its.state, before.get(job), message)
            self._limits_hold(plain)
        check({job: jobs.state_of(job) for job in plain.jobs} == final, "the fold and the plain rules differ")
        check(set(final) == set(self.jobs), "jobs were lost")
        unexpected = [job for job, state in final.items() if state != JobState.SUCCEEDED and job not in self.commanded]
        check(not unexpected, f"{unexpected} did not succeed")
        again = [run for run, times in Counter(self.fleet.runs).items() if times > 1]
        check(not again, f"{again} ran twice")

    def _has_run(self, job: int, state: JobState, lease: int | None, message: object) -> None:
        if state == JobState.SUCCEEDED and isinstance(message, JobsEndedMessage):
            check((job, lease) in self.fleet.successes, f"{job} succeeded by lease {lease}, by which it did not run")

    def _limits_hold(self, plain: PlainJobs) -> None:
        active = [its for its in plain.jobs.values() if its.worker]
        lanes = Counter(its.options.lane for its in active if its.options.lane)
        queues = Counter(plain.queue(its).name for its in active)
        each = Counter(its.worker for its in active if plain.queue(its).name == "limited")
        check(max(lanes.values(), default=0) <= 1, f"two jobs of a lane are leased: {lanes}")
        check(queues["limited"] <= 3 and max(each.values(), default=0) <= 2, f"too many are leased: {queues}, {each}")
        check(queues["ordered"] <= 1, "two jobs of an ordered queue are leased")


def outcome(seed: int) -> str:
    """What did not hold, or an empty text."""
    try:
        History(seed).run()
    except Broken as error:
        return str(error)
    return ""
