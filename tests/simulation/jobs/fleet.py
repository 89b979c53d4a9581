"""Workers in the simulated runtime: real workers and actors, and a cluster whose members learn of its views late."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from random import Random
from types import SimpleNamespace
from typing import Any

from callboard.actors.core.agent import Agent, AgentSpec, World
from callboard.actors.core.decision import Perform
from callboard.actors.core.effects import Append
from callboard.actors.jobs.worker import WorkerSettings, actors
from callboard.actors.runtime.simulated.simulated import Simulation
from callboard.backends.log import Log
from callboard.backends.logs.memory import MemoryLog
from callboard.board.jobs.running import Handlers, RunningJob
from callboard.board.jobs.worker import Worker
from callboard.errors import CallboardError, LogUnavailable, RetryJob
from callboard.messages.event import Event
from callboard.messages.headers import new_record
from callboard.messages.jobs.job_messages import job_id
from callboard.messages.topics import job_topic
from callboard.testing.simulation.topology.cluster import FaultyWorld

TOPIC = job_topic()


class Way(FaultyWorld):
    """A worker's way to the log: an append may fail before, after or long before its records are on the log."""

    def __init__(self, log: Log, rng: Random) -> None:
        super().__init__(log)
        self.lossy, self._rng = 0.0, rng

    async def perform(self, effect: Perform) -> Any:
        if not isinstance(effect, Append) or self._rng.random() >= self.lossy:
            return await super().perform(effect)
        match self._rng.randrange(3):
            case 0:
                await super().perform(effect)
            case 1:
                self._repeating.add(asyncio.ensure_future(self._repeat(effect, self._rng.choice([0.05, 0.5, 5.0]))))
        raise LogUnavailable("whether it was appended is unknown")


@dataclass
class Seat:
    """A worker's place in the cluster, as its worker knows it: stands in for ``Member`` and ``Attendance``."""

    instance: str
    incarnation: str
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    cluster: Any = field(default_factory=lambda: SimpleNamespace(view=None))
    has_ended: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def attendance(self) -> "Seat":
        return self

    @property
    def settings(self) -> Any:
        return self

    def show(self, view: Any) -> None:
        self.cluster.view = view
        before, self.changed = self.changed, asyncio.Event()
        before.set()

    standing = True

    async def start(self) -> None:
        pass

    async def settled(self) -> None:
        pass

    async def ended(self) -> None:
        await self.has_ended.wait()

    async def stop(self) -> None:
        pass


class Fleet:
    """Workers on one log, their jobs, and the views of their cluster."""

    def __init__(self, seed: int) -> None:
        self.simulation, self.rng = Simulation(seed), Random(f"fleet/{seed}")
        self.log = MemoryLog(lambda: self.simulation.clock.now().wall_ns, count().__next__)
        self.seats: dict[str, Seat] = {}
        self.workers: dict[str, Worker] = {}
        self.ways: dict[str, Way] = {}
        self.agents: dict[str, Agent] = {}
        self.order: list[str] = []
        """The incarnations of the members; the first may be no worker."""
        self.order += ["idle"] * Random(f"idle/{seed}").choice([0, 0, 1])
        self.epoch = 0
        self.runs: list[tuple[int, int]] = []
        self.successes: set[tuple[int, int]] = set()
        self.errors: list[dict[str, Any]] = []
        self._lives = 0
        self._tasks: set[asyncio.Task[Any]] = set()
        self.simulation.loop.set_exception_handler(lambda _, error: self.errors.append(error))
        self.simulation.run(self.log.ensure(TOPIC))

    # Members.

    def _new_life(self, instance: str) -> str:
        self._lives += 1
        return f"{instance}#{self._lives}"

    def start(self, instance: str, slots: int) -> None:
        seat, way = Seat(instance, self._new_life(instance)), Way(self.log, self.rng)
        way.lossy = 0.0
        self.seats[instance], self.ways[instance] = seat, way

        async def world() -> World:
            return way

        async def agent(settings: WorkerSettings) -> Agent:
            spec = AgentSpec(f"{seat.incarnation}", actors(settings), world)
            self.agents[instance] = await self.simulation.start(spec)
            return self.agents[instance]

        board: Any = SimpleNamespace(
            log=self.log, settings=SimpleNamespace(prefix="callboard"), agents=SimpleNamespace(worker=agent)
        )
        handlers = Handlers({"a/*": self._work, "b": self._work})
        member: Any = seat
        worker = self.workers[instance] = Worker(board, member, handlers, slots, self.rng.choice([0.1, 5.0]))
        self.simulation.run(worker.start())
        self.change([*self.order, seat.incarnation])

    def change(self, order: Sequence[str]) -> None:
        """The cluster has these members now; each learns of it some time later, and may act by its former view."""
        self.epoch += 1
        self.order = list(order)
        instances = tuple(SimpleNamespace(incarnation=each) for each in order)
        view = SimpleNamespace(log_id="control", epoch=self.epoch, instances=instances, local=None)
        for seat in self.seats.values():
            self.simulation.loop.call_later(self.rng.choice([0.0, 0.2, 3.0]), self._learn, seat, view)

    def _learn(self, seat: Seat, view: Any) -> None:
        known = seat.cluster.view
        if known is not None and known.epoch >= view.epoch:
            return
        if any(each.incarnation == seat.incarnation for each in view.instances):
            seat.show(SimpleNamespace(**{**vars(view), "local": SimpleNamespace(incarnation=seat.incarnation)}))
        elif known is not None and self.seats.get(seat.instance) is seat:  # it was evicted
            seat.incarnation, seat.cluster.view = self._new_life(seat.instance), None
            self.change([*self.order, seat.incarnation])

    def evict(self, instance: str) -> None:
        self.change([each for each in self.order if each != self.seats[instance].incarnation])

    def crash(self, instance: str) -> None:
        """End the process."""
        worker, seat = self.workers.pop(instance), self.seats.pop(instance)
        tasks = [*worker._work, *worker._tasks.values()]
        for task in tasks:
            task.cancel()
        self.simulation.cut_off(self.agents[instance])
        self._begin(self.agents.pop(instance).stop(0))
        self.change([each for each in self.order if each != seat.incarnation])

    def stop(self, instance: str) -> None:
        """Stop the worker as a service does; it leaves the cluster when it has drained."""
        worker, seat = self.workers.pop(instance), self.seats.pop(instance)

        async def stopped() -> None:
            await worker.stop()
            self.change([each for each in self.order if each != seat.incarnation])

        self._begin(stopped())

    def _begin(self, work: Any) -> None:
        task = self.simulation.loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    @property
    def is_stopping(self) -> bool:
        return bool(self._tasks)

    # Jobs.

    async def _work(self, payload: dict[str, Any], job: RunningJob) -> None:
        self.runs.append((job.id, job.lease))
        await asyncio.sleep(payload["run_s"])
        if job.attempt <= payload["fails"]:
            raise RetryJob("not yet", delay_s=payload["delay_s"])
        self.successes.add((job.id, job.lease))

    def say(self, message: Event) -> int:
        """Append a message; returns its offset."""
        number = f"{self.rng.getrandbits(64):x}"
        record = new_record(message, record_id=number, time_ns=self.simulation.clock.now().wall_ns, producer="test")
        return self.simulation.run(self.log.append(TOPIC, [record]))[0]

    def replace_topic(self) -> None:
        """Have another topic, an empty one, in place of that of the jobs."""
        del self.log._topics[TOPIC]
        self.simulation.run(self.log.ensure(TOPIC))

    def ids(self, offset: int, many: int) -> list[int]:
        return [job_id(offset, place) for place in range(many)]

    def calm(self) -> None:
        """End all faults."""
        for way in self.ways.values():
            way.is_cut, way.append_s, way.lossy, way.read_s = False, 0.0, 0.0, 0.0

    def failures(self) -> list[str]:
        """What ended in the workers that should not have."""
        ended = [task for worker in self.workers.values() for task in worker._work if task.done()]
        return [repr(task) for task in ended] + [str(error) for error in self.errors]

    def close(self) -> None:
        with suppress(CallboardError):
            self.simulation.close()
