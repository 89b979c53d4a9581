"""Events of publishers whose actors die, on a log that fails and delays: none is lost, and repeats keep their key.

Replay with ``CALLBOARD_SEEDS=17``.
"""

import asyncio
import os
from collections import Counter
from pathlib import Path
from random import Random

import pytest
from structlog.testing import capture_logs

from callboard.actors import publisher, subscriber
from callboard.actors.core.agent import Agent, AgentSpec, World
from callboard.actors.publisher import PublisherSettings
from callboard.actors.runtime.simulated.simulated import Simulation
from callboard.actors.runtime.supervision import Limits
from callboard.actors.subscriber import SubscriberSettings
from callboard.actors.worlds.world import AgentWorld
from callboard.backends.logs.memory import MemoryLog
from callboard.errors import NotAnswered
from callboard.messages.distribution.mailbox import DistributeRequest, DistributeResponse
from callboard.messages.distribution.package_event import KINDS, PackageEvent, open_event
from callboard.messages.distribution.topic_messages import Kind
from callboard.messages.topics import Topics
from callboard.testing.fakes.faults import Faults, FaultyLog
from callboard.testing.fakes.memory_blob_store import MemoryBlobStore
from callboard.testing.fakes.memory_repository import MemoryRepository, MemoryStore

TOPICS = Topics.with_prefix()
LIMITS = Limits(backoff_s=(0.0, 0.05), max_restarts=10_000)
PACKAGES = 15
CHAOS_S = 12.0
CALM_S = 400.0


def seeds() -> range:
    first, colon, last = os.environ.get("CALLBOARD_SEEDS", "0:6").partition(":")
    return range(int(first), int(last) if colon else int(first) + 1)


class Play:
    """Two processes publish under one name, two subscribers import, and faults kill notifiers and their peers."""

    def __init__(self, simulation: Simulation, tmp_path: Path, *, keys: bool) -> None:
        self.simulation = simulation
        self.rng = Random(simulation.rng.random())
        self.tmp_path = tmp_path
        self.log = MemoryLog(lambda: simulation.clock.now().wall_ns, lambda: self.rng.getrandbits(64))
        self.blobs = MemoryBlobStore(lambda: simulation.clock.now().wall_ns)
        self.faults = Faults(self.rng)
        self.faulty_log = FaultyLog(self.log, self.faults, keys=keys)
        self.keys = keys
        self.offsets: dict[str, int] = {}

    async def ensure(self) -> None:
        for topic in (TOPICS.package, TOPICS.status, TOPICS.discovery, TOPICS.command, TOPICS.event):
            await self.log.ensure(topic)

    async def run(self) -> None:
        await self.ensure()
        publishers = [await self.publisher(instance) for instance in ("one", "two")]
        subscribers = [await self.subscriber(name) for name in ("edge-1", "edge-2")]
        await asyncio.gather(self.publish(publishers), self.kill(publishers))
        self.faults.active = False
        await self.settle()
        for agent in publishers + subscribers:
            await agent.stop(10)

    async def publisher(self, instance: str) -> Agent:
        async def world() -> World:
            return AgentWorld(self.faulty_log, self.blobs, self.tmp_path)

        settings = PublisherSettings("site", instance, TOPICS, keys=self.keys, events=KINDS)
        return await self.simulation.start(AgentSpec(f"site {instance}", publisher.actors(settings), world), LIMITS)

    async def subscriber(self, name: str) -> Agent:
        async def world() -> World:
            repository = MemoryRepository(MemoryStore())
            return AgentWorld(self.log, self.blobs, self.tmp_path / name, repository=repository)

        settings = SubscriberSettings(name=name, topics=TOPICS, editable=True)
        return await self.simulation.start(AgentSpec(name, subscriber.actors(settings), world), LIMITS)

    async def publish(self, publishers: list[Agent]) -> None:
        for number in range(PACKAGES):
            await asyncio.sleep(self.rng.uniform(0, CHAOS_S / PACKAGES))
            request = DistributeRequest(request_id=f"r{number}", kind=Kind.DELETE, paths=(f"/{number}",))
            asked = self.rng.choice(publishers)
            while True:
                if self.keys:  # without keys, two publishers asked at once ship it twice
                    asked = self.rng.choice(publishers)
                try:
                    answer = await asked.ask(publisher.roles.DISTRIBUTOR, request, 5)
                except NotAnswered:
                    continue
                assert isinstance(answer, DistributeResponse)
                if answer.accepted:
                    self.offsets[answer.package_id] = answer.offset
                    break
                assert answer.retry, answer.reason

    async def kill(self, publishers: list[Agent]) -> None:
        for _ in range(30):
            await asyncio.sleep(self.rng.uniform(0, 2 * CHAOS_S / 30))
            role = self.rng.choice([publisher.roles.NOTIFIER, publisher.roles.NOTIFIER, publisher.roles.FLEET])
            await self.rng.choice(publishers).kill(role)

    async def settle(self) -> None:
        """Wait until every event is written."""
        async with asyncio.timeout(CALM_S):
            while set(await self.told()) < self.expected():  # noqa: ASYNC110
                await asyncio.sleep(0.5)

    def expected(self) -> set[tuple[str, str, str]]:
        of_all = {(kind, package, "") for package in self.offsets for kind in ("created", "queued", "distributed")}
        of_each = {("imported", package, name) for package in self.offsets for name in ("edge-1", "edge-2")}
        return of_all | of_each

    async def told(self) -> Counter[tuple[str, str, str]]:
        """How often each event was written; the same event always has the same key."""
        found: Counter[tuple[str, str, str]] = Counter()
        keys: dict[tuple[str, str, str], str] = {}
        start, end = await self.log.bounds(TOPICS.event)
        while start < end:
            for record in await self.log.read(TOPICS.event, start):
                start = record.offset + 1
                event = open_event(record)
                if isinstance(event, PackageEvent):
                    what = (event.kind, event.package_id, event.subscriber)
                    assert keys.setdefault(what, event.dedup_key) == event.dedup_key
                    found[what] += 1
        return found


@pytest.mark.proves("W14", "W15", "F66", "F69")
@pytest.mark.parametrize("keys", [True, False])
@pytest.mark.parametrize("seed", seeds())
def test_every_event_is_written_whichever_actors_die(seed: int, keys: bool, tmp_path: Path) -> None:
    with capture_logs() as lines, Simulation(seed) as simulation:
        play = Play(simulation, tmp_path, keys=keys)
        try:
            simulation.run(play.run())
            told = simulation.run(play.told())
        except BaseException as error:
            error.add_note(f"replay with: CALLBOARD_SEEDS={seed} python -m pytest {Path(__file__).name}")
            raise
    assert [line for line in lines if line["event"] == "actor.crashed"] == []
    assert set(told) == play.expected()
    if keys:
        assert set(told.values()) == {1}


def test_an_idle_notifier_does_not_read_more_often_over_time(tmp_path: Path) -> None:
    with Simulation(1) as simulation:
        play = Play(simulation, tmp_path, keys=True)
        simulation.run(play.ensure())
        simulation.run(play.publisher("one"))
        steps = []
        for _ in range(4):
            simulation.loop.allow(100_000)
            before = simulation.steps
            simulation.run_for(60.0)
            steps.append(simulation.steps - before)
    assert max(steps[1:]) <= 2 * min(steps[1:]), steps
