"""Real workers and their actors in the simulated runtime, and a cluster whose members learn of its views late."""

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import count
from random import Random
from types import SimpleNamespace
from typing import Any

from callboard.actors.core.agent import AgentSpec, World
from callboard.actors.jobs.worker import WorkerSettings, actors
from callboard.actors.jobs.worker.roles import DISPATCHER
from callboard.actors.runtime.simulated.simulated import Simulation
from callboard.backends.logs.memory import MemoryLog
from callboard.board.jobs.functions.handlers import Handlers
from callboard.board.jobs.work.running_job import RunningJob
from callboard.errors import CancelJob, RequestRefused, RetryJob
from callboard.messages.record import Record
from callboard.messages.topics import job_topic
from callboard.messages.topology.member_mail import MemberProblem
from callboard.testing.simulation.jobs.acts import Join
from callboard.testing.simulation.jobs.host import Host, Reader, SimulatedWorker

TOPIC = job_topic()
LEASE_S = 10.0
"""A worker that is away for longer is no member any more."""
AGAIN_S = 0.5
"""After this, one that was evicted joins again."""


class Workers:
    """Workers on one log, and the views of their cluster. The methods that ``Strike`` names take a host and seconds."""

    def __init__(self, simulation: Simulation, seed: int) -> None:
        self.simulation = simulation
        self.rng = Random(f"workers/{seed}")  # noqa: S311  # reproducible, not secret
        self.jump_s = 0.0
        self._identities = count()
        self.log = self.new_log()
        self.hosts: dict[str, Host] = {}
        self.workers: dict[str, SimulatedWorker] = {}
        self.order = ["idle"] * self.rng.choice([0, 0, 1])
        """The incarnations of the members; the first may be no worker."""
        self.left: set[str] = set()
        """The incarnations that are members no more."""
        self.runs: dict[tuple[int, int], list[int]] = {}
        """The attempts that were begun, by job and lease."""
        self.given: dict[tuple[int, int], object] = {}
        """What they got that was saved before."""
        self.done: set[tuple[int, int]] = set()
        """The jobs and leases whose work was done: the side effect happened."""
        self.states: dict[Record, str] = {}
        """The digest of what was known after a record. Its time is part of it: what is added twice may have the same
        offset on the former log and on the copy."""
        self.wrong: list[str] = []
        self.count = Counter[str]()
        self._lives = self._epoch = 0
        self._tasks: set[asyncio.Task[Any]] = set()
        simulation.loop.set_exception_handler(lambda _, error: self.wrong.append(f"a task failed: {error}"))
        simulation.run(self.log.ensure(TOPIC))

    def new_log(self) -> MemoryLog:
        """A log whose clock may jump."""
        return MemoryLog(
            lambda: self.simulation.clock.now().wall_ns + int(self.jump_s * 1e9), self._identities.__next__
        )

    def move_to(self, log: MemoryLog) -> None:
        """Have this log in place of the former one."""
        self.log = log
        for host in self.hosts.values():
            host.move_to(log)

    @property
    def now_s(self) -> float:
        """Virtual seconds since the beginning."""
        return self.simulation.loop.time()

    def after(self, seconds: float, then: Callable[[], object]) -> None:
        """Do this later."""
        self.simulation.loop.call_later(seconds, then)

    # Members.

    def _new_life(self, instance: str) -> str:
        self._lives += 1
        return f"{instance}#{self._lives}"

    def start(self, its: Join) -> None:
        """A worker starts, if it does not run."""
        if its.worker in self.hosts:
            return
        host = Host(self.log, self.simulation.clock, self.rng, its)
        host.incarnation, self.hosts[its.worker] = self._new_life(its.worker), host

        async def world() -> World:
            return host

        async def agent(settings: WorkerSettings) -> Host:
            reader = partial(Reader, self.tell_state)
            specs = tuple(replace(it, decision=reader) if it.role == DISPATCHER else it for it in actors(settings))
            host.agent = await self.simulation.start(AgentSpec(host.incarnation, specs, world), clock=host)
            return host

        board: Any = SimpleNamespace(
            log=self.log, settings=SimpleNamespace(prefix="callboard"), agents=SimpleNamespace(worker=agent)
        )
        member: Any = host
        handlers = Handlers(dict.fromkeys(its.patterns, partial(self._work, host)))
        drain_s = self.rng.choice([0.1, 5.0])
        worker = self.workers[its.worker] = SimulatedWorker(
            board, member, handlers, its.slots, drain_s, its.deny, its.tags
        )
        self.simulation.run(worker.start())
        self._change([*self.order, host.incarnation])

    def _change(self, order: Sequence[str]) -> None:
        """The cluster has these members now; each learns of it some time later, and may act by its former view."""
        self._epoch += 1
        self.left |= set(self.order) - set(order)
        self.order = list(order)
        instances = tuple(SimpleNamespace(incarnation=each) for each in order)
        view = SimpleNamespace(log_id="control", epoch=self._epoch, instances=instances, local=None)
        for host in self.hosts.values():
            self.after(self._late_s(host), partial(self._learn, host, view))

    def _late_s(self, host: Host) -> float:
        """After how long it learns of a change."""
        return max(0.0, max(host.awake_s, host.blind_s) - self.now_s) + self.rng.choice([0.0, 0.2, 3.0])

    def _learn(self, host: Host, view: Any) -> None:
        known = host.cluster.view
        if host.news.problem or (known is not None and known.epoch >= view.epoch):
            return
        if any(each.incarnation == host.incarnation for each in view.instances):
            local = SimpleNamespace(incarnation=host.incarnation)
            host.show(SimpleNamespace(**{**vars(view), "local": local}))
        elif known is not None and self.hosts.get(host.instance) is host:  # it was evicted
            host.news.problem = MemberProblem.EVICTED
            host.show(None)
            self.after(AGAIN_S, partial(self._rejoin, host))

    def _rejoin(self, host: Host) -> None:
        if self.hosts.get(host.instance) is host:
            host.incarnation, host.news.problem = self._new_life(host.instance), ""
            self._change([*self.order, host.incarnation])

    # Strikes.

    def evict(self, host: Host, _: float = 0.0) -> None:
        """The member is evicted."""
        self._expel(host.incarnation)

    def _expel(self, incarnation: str) -> None:
        if incarnation in self.order:
            self._change([each for each in self.order if each != incarnation])

    def crash(self, host: Host, _: float = 0.0) -> None:
        """The process ends; its late appends may still come."""
        del self.hosts[host.instance]
        self.workers.pop(host.instance).crash()
        self.simulation.cut_off(host.agent)
        self.begin(host.stop(0))
        self.evict(host)

    def stop(self, host: Host, _: float = 0.0) -> None:
        """Its service stops it; it leaves the cluster when it has drained."""
        del self.hosts[host.instance]
        worker = self.workers.pop(host.instance)

        async def stopped() -> None:
            await worker.stop()
            self.evict(host)

        self.begin(stopped())

    def replace(self, host: Host, _: float = 0.0) -> None:
        """Another process takes its name. It goes on until it learns of that, and then stops."""
        del self.hosts[host.instance]
        worker = self.workers.pop(host.instance)
        self.evict(host)
        self.start(host.its)

        async def learn() -> None:
            await asyncio.sleep(self._late_s(host))
            host.cluster.view = None
            await worker.stop()

        self.begin(learn())

    def pause(self, host: Host, seconds: float) -> None:
        """The process is suspended."""
        host.awake_s = max(host.awake_s, self.now_s + seconds)
        self.simulation.suspend(host.agent, seconds)
        self._lapse(host, seconds)

    def cut(self, host: Host, seconds: float) -> None:
        """It cannot reach the log."""

        def heal() -> None:
            host.is_cut = False

        host.is_cut = True
        self.after(seconds, heal)
        self._lapse(host, seconds)

    def _lapse(self, host: Host, seconds: float) -> None:
        if seconds > LEASE_S:
            self.after(LEASE_S, partial(self._expel, host.incarnation))

    def slow(self, host: Host, seconds: float) -> None:
        """Its appends and reads take long."""

        def heal() -> None:
            host.append_s = host.read_s = 0.0

        host.append_s, host.read_s = self.rng.choice([(0.5, 0.0), (0.0, 0.5), (2.0, 2.0)])
        self.after(seconds, heal)

    def lose(self, host: Host, seconds: float) -> None:
        """The outcome of its appends is unknown."""

        def heal() -> None:
            host.lossy = 0.0

        host.lossy = self.rng.choice([0.3, 0.9])
        self.after(seconds, heal)

    def blind(self, host: Host, seconds: float) -> None:
        """It learns late how the cluster has changed."""
        host.blind_s = self.now_s + seconds

    def skew(self, host: Host, seconds: float) -> None:
        """Its clock is set."""
        host.skewed_s = seconds

    def kill(self, host: Host, role: str) -> None:
        """One of its actors dies."""
        self.simulation.run(host.agent.kill(role))

    def begin(self, work: Coroutine[Any, Any, Any]) -> None:
        """Do this meanwhile."""
        task = self.simulation.loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    # Jobs.

    async def _work(self, host: Host, payload: dict[str, Any], job: RunningJob) -> object:
        lease = job.id, job.lease
        self.runs.setdefault(lease, []).append(job.attempt)
        self.given[lease] = job.saved
        if payload.get("later"):
            self.begin(self._end_later(host, payload, job))
            return job.later()
        host.running += 1
        if host.running > host.slots:
            self.wrong.append(f"{host.instance} runs {host.running} jobs in {host.slots} slots")
        try:
            await host.work(payload, job)
        finally:
            host.running -= 1
        self.done.add(lease)
        return None

    async def _end_later(self, host: Host, payload: dict[str, Any], job: RunningJob) -> None:
        """Others do the work, and go on if the worker ends."""
        error: Exception | None = None
        try:
            await host.work(payload, job)
            self.done.add((job.id, job.lease))
        except (RetryJob, CancelJob) as raised:
            error = raised
        with suppress(RequestRefused):  # the attempt has ended
            job.fail(error) if error else job.succeed()

    def tell_state(self, record: Record, state: str) -> None:
        """This is the digest of some reader after the record."""
        if self.states.setdefault(record, state) != state:
            self.wrong.append(f"two readers have other jobs after the record at offset {record.offset}")
