"""A plan, from the beginning until all jobs have ended."""

import json
from functools import partial
from typing import Any

from callboard.backends.logs.restorable import Returned
from callboard.messages.event import Event, replaced
from callboard.messages.headers import new_record
from callboard.messages.jobs.job_messages import (
    JobCommandMessage,
    JobOptions,
    JobsAddedMessage,
    ScheduleCommandMessage,
    ScheduleMessage,
    job_id,
)
from callboard.messages.record import NewRecord
from callboard.testing.simulation.jobs.acts import (
    Act,
    Add,
    Command,
    Configure,
    Join,
    PlannedJob,
    Schedule,
    Strike,
    Suspend,
    Trouble,
)
from callboard.testing.simulation.jobs.plan import ALL, CHAOS_S, QUEUES, TAGS, TOPICS, TURNS, JobsPlan
from callboard.testing.simulation.jobs.schedules import check_schedules
from callboard.testing.simulation.jobs.witness import Witness
from callboard.testing.simulation.jobs.workers import LEASE_S, TOPIC, Workers
from callboard.testing.simulation.topology.broken_rule import must

LOOK_S = 0.25
CALM_S = 300.0
"""Virtual seconds in which all jobs end once there are no more faults."""

LAST = tuple(PlannedJob(topic, 0.3) for topic in (*dict.fromkeys(TOPICS), *TURNS) for _ in range(4))
LAST_S = 30.0
"""Jobs that are added in the end, and virtual seconds in which one slot runs them, if nothing of the faults is left."""

JUMPS_S = 400.0
"""By how much the clock of the log may be ahead of that of a dispatcher, whose retries wait for as long."""


class Scene:
    """Carries out the acts of a plan, as hosts, operators and those do that add jobs."""

    def __init__(self, plan: JobsPlan, workers: Workers) -> None:
        self.plan, self.workers, self.witness = plan, workers, Witness(plan, workers)
        self._batches: list[tuple[str, int]] = []
        """The requests that have added jobs, and how many each."""
        for queue in QUEUES:
            self._say(JobCommandMessage(configure=queue))

    def play(self) -> None:
        """Play it all, and let all jobs end. Raises ``BrokenRule``."""
        for act in self.plan.acts:
            while self.workers.now_s < act.at_s:
                self._pass(min(LOOK_S, act.at_s - self.workers.now_s))
            self.workers.simulation.note(str(act))
            self.workers.count[getattr(act, "verb", type(act).__name__)] += 1
            self._do(act)
        while self.workers.now_s < CHAOS_S:
            self._pass(LOOK_S)
        self._calm()
        self._until_all_have_ended(CALM_S)
        self._append(self._record(self._added(LAST)))
        self._until_all_have_ended(LAST_S)
        self.witness.account()

    def _pass(self, seconds: float) -> None:
        self.workers.simulation.run_for(seconds)
        self.witness.look()

    def _calm(self) -> None:
        """End all faults, and set all clocks; soon afterwards, end all schedules."""
        self.workers.jump_s = 0.0
        self._pass(25.0)  # the longest fault
        for host in self.workers.hosts.values():
            host.lossy = host.append_s = host.read_s = host.skewed_s = 0.0
            host.is_cut = False
        if not any(worker.runs_all for worker in self.workers.workers.values()):
            self.workers.start(Join(0.0, "last", 2, ALL, tags=TAGS))
        for name in self.witness.jobs.queues.suspended.copy():
            self._say(JobCommandMessage(resume=name))
        for its in list(self.witness.jobs.schedules):
            self._say(ScheduleCommandMessage(resume=its.message.name))
        self._pass(2 * LEASE_S)
        check_schedules(self.witness.jobs.schedules, self._now_ms, self.plan)
        for its in list(self.witness.jobs.schedules):
            self._say(ScheduleCommandMessage(remove=its.message.name))

    def _until_all_have_ended(self, within_s: float) -> None:
        until_s = self.workers.now_s + within_s + (0.0 if self.plan.is_punctual else JUMPS_S)
        while left := self.witness.left:
            must(self.workers.now_s < until_s, "all jobs end", f"{len(left)} have not, as {list(left.items())[:3]}")
            self._pass(1.0)
        self._pass(10.0)  # what is still said is late

    def _do(self, act: Act) -> None:
        match act:
            case Add(jobs=jobs, again_s=again_s):
                record = self._record(self._added(jobs))
                self._append(record)
                for seconds in again_s:
                    self.workers.after(seconds, partial(self._again, record))
            case Join():
                self.workers.start(act)
            case Strike(worker=name, verb=verb, seconds=seconds) if host := self.workers.hosts.get(name):
                verb, _, role = verb.partition("_")
                getattr(self.workers, verb)(host, role or seconds)
            case Trouble(verb="outage", amount=seconds):
                for host in self.workers.hosts.values():  # nobody is evicted, as the control topic is away as well
                    self.workers.cut(host, min(seconds, LEASE_S))
            case Trouble(verb="jump", amount=seconds):
                self.workers.jump_s += seconds
            case Trouble(verb="exchange", amount=kept):
                self._exchange(kept)
            case Command(verb=verb, place=place) if known := self._known(verb):
                command: Any = {verb: (known[int(place * len(known))],)}
                self._say(JobCommandMessage(**command))
            case Configure(queue=queue):
                self._say(JobCommandMessage(configure=queue))
            case Suspend(name=name, seconds=seconds):
                kind: Any = ScheduleCommandMessage if name in ("often", "seldom") else JobCommandMessage
                self._say(kind(suspend=name))
                self.workers.after(seconds, lambda: self._again(self._record(kind(resume=name))))
            case Schedule():
                options = JobOptions(job=0, unique=act.unique) if act.unique else None
                rule = {name: self._now_ms + value if name == "at_ms" else value for name, value in act.rule.items()}
                self._say(ScheduleMessage(
                    name=act.name, topic="b", payload=_payload(PlannedJob("b", 0.3)), options=options,
                    catch_up=act.catch_up, **rule,
                ))  # fmt: skip

    def _known(self, verb: str) -> list[int]:
        """The jobs that a command is mostly for."""
        return list(self.witness.books if verb == "forget" else self.witness.left)

    @property
    def _now_ms(self) -> int:
        return self.workers.simulation.clock.now().wall_ns // 1_000_000

    def _added(self, jobs: tuple[PlannedJob, ...]) -> JobsAddedMessage:
        topics = tuple(dict.fromkeys(each.topic for each in jobs))
        due_ms = [self._now_ms + int(each.due_s * 1000) if each.due_s else 0 for each in jobs]
        request, earlier = f"{self.workers.rng.getrandbits(64)}", self._batches[-1:-4:-1]
        self._batches.append((request, len(jobs)))
        sizes = [many for _, many in earlier]
        options = [
            replaced(each.options or JobOptions(job=0), job=place, due_ms=due, **_after(each, [place, *sizes]))
            for place, (each, due) in enumerate(zip(jobs, due_ms, strict=True))
            if each.options or due or each.after
        ]
        return JobsAddedMessage(
            request=request, creator="test", topics=topics, earlier=tuple(each for each, _ in earlier),
            topic_of=tuple(topics.index(each.topic) for each in jobs), payloads=tuple(map(_payload, jobs)),
            options=tuple(options),
        )  # fmt: skip

    def _record(self, message: Event) -> NewRecord:
        now_ns, number = self.workers.simulation.clock.now().wall_ns, f"{self.workers.rng.getrandbits(64):x}"
        return new_record(message, record_id=number, time_ns=now_ns, producer="test")

    def _append(self, record: NewRecord) -> None:
        self.workers.simulation.run(self.workers.log.append(TOPIC, [record]))
        self.witness.look()

    def _say(self, message: Event) -> None:
        self._append(self._record(message))

    def _again(self, record: NewRecord) -> None:
        self.workers.begin(self.workers.log.append(TOPIC, [record]))

    def _exchange(self, kept: float) -> None:
        """Replace the log by a copy of this share of its records."""
        records, log = self.witness.records(0), self.workers.new_log()
        self.workers.simulation.run(log.ensure(TOPIC))
        copied = [Returned(record, None) for record in records[: int(len(records) * kept)]]
        self.workers.simulation.run(log.put_back(TOPIC, copied))
        self.workers.move_to(log)
        self.witness = Witness(self.plan, self.workers)
        for queue in QUEUES:  # the copy may be older than these
            self._say(JobCommandMessage(configure=queue))


def _after(job: PlannedJob, sizes: list[int]) -> dict[str, Any]:
    """The ranges of jobs that it waits for: the batches, its own and earlier ones, have these sizes."""
    known = [each for each in job.after if each < len(sizes) and sizes[each]]
    return {
        "after": tuple(job_id(-1 - each, 0) for each in known), "after_counts": tuple(sizes[each] for each in known)
    }  # fmt: skip


def _payload(job: PlannedJob) -> bytes:
    its = {"run_s": job.run_s, "fails": job.fails, "delay_s": job.delay_s, "cancels": job.cancels,
           "later": job.later}  # fmt: skip
    return json.dumps(its).encode()
