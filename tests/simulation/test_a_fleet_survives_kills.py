"""Whole fleets in virtual time: actors die, agents restart, logs and repositories fail and delay; nothing is lost.

Replay or extend with ``CALLBOARD_SEEDS=17`` or ``CALLBOARD_SEEDS=1000:2000``.
"""

import asyncio
import os
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import pytest
from structlog.testing import capture_logs

from callboard.actors import publisher, subscriber
from callboard.actors.core.agent import ActorSpec, Agent, AgentSpec, World
from callboard.actors.core.backoff import Backoff
from callboard.actors.core.decision import Perform
from callboard.actors.publisher import PublisherSettings
from callboard.actors.runtime.simulated.simulated import Simulation
from callboard.actors.runtime.supervision import Limits
from callboard.actors.subscriber import SubscriberSettings
from callboard.actors.subscriber.effects import ImportPackages
from callboard.actors.worlds.world import AgentWorld
from callboard.backends.blob_store import BlobStore
from callboard.backends.fence import Token
from callboard.backends.log import Log
from callboard.backends.logs.memory import MemoryLog
from callboard.backends.repository import EntryKind, Operation
from callboard.content.ship import build
from callboard.errors import NotAnswered
from callboard.messages import codec
from callboard.messages.distribution.ledger import Ledger
from callboard.messages.distribution.mailbox import DistributeRequest, DistributeResponse
from callboard.messages.distribution.topic_messages import (
    ClearCommand,
    CommandMessage,
    Kind,
    PackageMessage,
    PackageStatusMessage,
    SkipCommand,
    Status,
)
from callboard.messages.headers import new_record, open_record
from callboard.messages.topics import Topics
from callboard.testing.fakes.faults import Faults, FaultyLog, FaultyRepository
from callboard.testing.fakes.memory_blob_store import MemoryBlobStore
from callboard.testing.fakes.memory_repository import MemoryRepository, MemoryStore, Node

PACKAGES = 20
KILLS = 25
CHAOS_S = 12.0
CALM_S = 400.0
TOPICS = Topics.with_prefix()
LIMITS = Limits(backoff_s=(0.0, 0.05), max_restarts=10_000)


def seeds() -> Iterable[int]:
    first, colon, last = os.environ.get("CALLBOARD_SEEDS", "0:12").partition(":")
    return range(int(first), int(last) if colon else int(first) + 1)


@dataclass
class Sent:
    """A package as the publisher knows it: the content it leaves at its path, or None."""

    publisher: str
    path: str
    content: bytes | None
    damaged: bool


class WatchedRepository(MemoryRepository):
    """Records the packages of every commit, in order."""

    def __init__(self, store: MemoryStore, commits: list[int]) -> None:
        super().__init__(store)
        self._commits = commits
        self.importing: tuple[int, ...] = ()

    async def apply(self, operations: Iterable[Operation], ledger: bytes, token: Token | None = None) -> None:
        await super().apply(operations, ledger, token)
        self._commits += self.importing


class WatchedWorld(AgentWorld):
    """Tells its repository which packages are next."""

    def __init__(self, log: Log, blobs: BlobStore, spool: Path, watched: WatchedRepository, faults: Faults) -> None:
        super().__init__(log, blobs, spool, repository=FaultyRepository(watched, faults))
        self._watched = watched

    async def perform(self, effect: Perform) -> Any:
        if isinstance(effect, ImportPackages):
            self._watched.importing = effect.offsets
        return await super().perform(effect)


@dataclass
class Edge:
    """A subscriber, across restarts of its agent."""

    settings: SubscriberSettings
    agent: Agent | None = None
    store: MemoryStore = field(default_factory=MemoryStore)
    commits: list[int] = field(default_factory=list)

    @property
    def ledger(self) -> Ledger:
        return codec.decode(Ledger, self.store.ledger) if self.store.ledger else Ledger(instance="")

    def busy(self, end: int) -> bool:
        """Whether it is not done, or has not reported so."""
        ledger = self.ledger
        return ledger.offset < end - 1 or bool(ledger.outbox) or any(package.due for package in ledger.held)

    @property
    def files(self) -> dict[str, Node]:
        return {path: node for path, node in self.store.tree.items() if path.count("/") == 2}


class Fleet:
    """Two publishers' packages, three subscribers, and the fates."""

    def __init__(self, simulation: Simulation, tmp_path: Path) -> None:
        self.simulation = simulation
        self.rng = Random(simulation.rng.random())
        self.tmp_path = tmp_path
        self.log = MemoryLog(lambda: simulation.clock.now().wall_ns, lambda: self.rng.getrandbits(64))
        self.blobs = MemoryBlobStore(lambda: simulation.clock.now().wall_ns)
        self.faults = Faults(self.rng)
        self.faulty_log = FaultyLog(self.log, self.faults, keys=self.rng.random() < 0.5)
        self.damage = 0.1
        self.sent: dict[int, Sent] = {}
        self.source = MemoryRepository()
        for folder in ("/site", "/shop"):
            self.source.tree[folder] = Node(kind=EntryKind.FOLDER, mode=0o755)
        self.kills: Counter[str] = Counter()
        self.edges = [
            self.edge("edge-0", editable=True),
            self.edge("edge-1", editable=False),
            self.edge("edge-2", editable=True, follows=("site",)),
            self.edge("edge-3", editable=True, on_give_up="quarantine"),
        ]

    def edge(self, name: str, **settings: object) -> Edge:
        return Edge(
            SubscriberSettings(
                name=name,
                topics=TOPICS,
                on_undecodable="dead_letter",
                retry=Backoff(first_s=0.2, max_s=2.0),
                fetch_records=self.rng.choice([1, 3, 100]),
                outbox_max=self.rng.choice([2, 1000]),
                batch_packages=self.rng.choice([1, 3, 64]),
                **settings,  # type: ignore[arg-type]
            )
        )

    # Running it.

    async def play(self) -> None:
        for topic in (TOPICS.package, TOPICS.status, TOPICS.discovery, TOPICS.command):
            await self.log.ensure(topic)
        await self.start_publishers()
        for edge in self.edges:
            await self.start(edge)
        await asyncio.gather(self.publish(), self.kill(), self.restart(), self.clear(), self.skip())
        self.faults.active = False
        await self.settle()
        for agent, _ in self.agents():
            await agent.stop(10)

    def agents(self) -> list[tuple[Agent, tuple[ActorSpec, ...]]]:
        return [(edge.agent, subscriber.actors(edge.settings)) for edge in self.edges if edge.agent]

    async def start_publishers(self) -> None:
        """The test itself is the publisher."""

    async def start(self, edge: Edge) -> None:
        async def world() -> World:
            watched = WatchedRepository(edge.store, edge.commits)
            return WatchedWorld(self.faulty_log, self.blobs, self.tmp_path / edge.settings.name, watched, self.faults)

        spec = AgentSpec(edge.settings.name, subscriber.actors(edge.settings), world)
        edge.agent = await self.simulation.start(spec, LIMITS)

    async def publish(self) -> None:
        for number in range(PACKAGES):
            await asyncio.sleep(self.rng.uniform(0, CHAOS_S / PACKAGES))
            name = self.rng.choice(["site", "site", "shop"])
            path = f"/{name}/{self.rng.randrange(4)}"
            damaged = self.rng.random() < self.damage
            kind = Kind.DELETE if not damaged and self.rng.random() < 0.25 else Kind.ADD
            content = b"%d" % number * self.rng.choice([1, 1000]) if kind is Kind.ADD else None
            sent = Sent(name, path, content, damaged)
            self.sent[await self.send(f"p{number}", kind, sent)] = sent

    async def send(self, package_id: str, kind: Kind, sent: Sent) -> int:
        """Put a package on the log; its offset."""
        if sent.content is not None:
            self.source.tree[sent.path] = Node(kind=EntryKind.FILE, mode=0o644, content=sent.content)
        small = {"inline_max": 900, "blob_threshold": 2000}
        shipment = await build(kind, self.source, [sent.path], [], blobs=self.blobs, spool=self.tmp_path, **small)
        fields = asdict(shipment) | ({"content_digest": "0" * 64} if sent.damaged else {})
        message = PackageMessage(
            publisher_instance="i", publisher=sent.publisher, package_id=package_id, kind=kind, **fields
        )
        record = new_record(message, record_id=package_id, time_ns=1, producer="fleet")
        return (await self.log.append(TOPICS.package, [record]))[0]

    async def kill(self) -> None:
        for _ in range(KILLS):
            await asyncio.sleep(self.rng.uniform(0, 2 * CHAOS_S / KILLS))
            agent, actors = self.rng.choice(self.agents())
            role = self.rng.choice(actors).role
            await agent.kill(role)
            self.kills[role] += 1

    async def restart(self) -> None:
        """Stop an agent, at once or cleanly, and start it again."""
        for _ in range(2):
            await asyncio.sleep(self.rng.uniform(0, CHAOS_S / 2))
            edge = self.rng.choice(self.edges)
            assert edge.agent is not None
            await edge.agent.stop(self.rng.choice([0.0, 0.05, 5.0]))
            edge.store.crash()
            await self.start(edge)

    async def clear(self) -> None:
        """Clear the packages of one publisher that edge-0 may still have to import."""
        await asyncio.sleep(self.rng.uniform(0, CHAOS_S))
        last = (await self.log.bounds(TOPICS.package)).end - 1
        await self.command("edge-0", publisher="shop", clear=ClearCommand(offset=max(0, last)))

    async def skip(self) -> None:
        """Repeatedly skip one of the packages that edge-3 has quarantined."""
        for _ in range(3):
            await asyncio.sleep(self.rng.uniform(0, CHAOS_S / 2))
            if held := self.edges[3].ledger.held:
                await self.command("edge-3", skip=SkipCommand(offset=self.rng.choice(held).offset))

    async def command(self, subscriber: str, **order: Any) -> None:
        edge = next(edge for edge in self.edges if edge.settings.name == subscriber)
        message = CommandMessage(subscriber_instance=edge.ledger.instance, subscriber=subscriber, **order)
        record = new_record(message, record_id="c", time_ns=1, producer="fleet")
        await self.log.append(TOPICS.command, [record])

    async def settle(self) -> None:
        """Wait until every subscriber is done, and has reported so."""
        end = (await self.log.bounds(TOPICS.package)).end
        async with asyncio.timeout(CALM_S):
            while any(edge.busy(end) for edge in self.edges):  # noqa: ASYNC110
                await asyncio.sleep(0.1)

    # Looking at it.

    async def statuses(self, name: str) -> dict[int, Status]:
        """The statuses of a subscriber, by offset; repeated ones must be the same."""
        told: dict[tuple[str, int], PackageStatusMessage] = {}
        for record in await self.log.read(TOPICS.status, 1):
            status = open_record(record, PackageStatusMessage)
            if status.subscriber == name:
                first = told.setdefault((status.subscriber_instance, status.sequence), status)
                assert (first.offset, first.status) == (status.offset, status.status)
        lines = sorted(told.values(), key=lambda status: status.sequence)
        offsets = Counter(status.offset for status in lines if status.status is not Status.HELD)
        assert not offsets or max(offsets.values()) == 1, f"{name} told twice of one package: {offsets}"
        return {status.offset: status.status for status in lines}

    async def check(self, edge: Edge) -> None:
        name = edge.settings.name
        concerned = {offset for offset, sent in self.sent.items() if edge.settings.follows_publisher(sent.publisher)}
        damaged = {offset for offset in concerned if self.sent[offset].damaged}
        told = await self.statuses(name)
        removed = {offset for offset, status in told.items() if status is Status.REMOVED}
        failed = {offset for offset, status in told.items() if status is Status.REMOVED_FAILED}
        skipped = {offset for offset, status in told.items() if status is Status.SKIPPED}
        held = {package.offset for package in edge.ledger.held}
        superseded = concerned - set(edge.commits) - removed - failed - held - skipped
        for path in {sent.path for sent in self.sent.values()}:
            commits = [offset for offset in edge.commits if self.sent[offset].path == path]
            assert commits == sorted(set(commits)), f"{name} did not commit each package once and in order"
        assert set(edge.commits) <= concerned - removed - failed - held - skipped
        assert damaged - removed - superseded - skipped == (failed or held & damaged)
        if edge.settings.editable:
            assert {offset for offset, status in told.items() if status is Status.SUPERSEDED} == superseded
        assert set(told) == (concerned if edge.settings.editable else failed)
        assert all(name == "edge-0" and self.sent[offset].publisher == "shop" for offset in removed)
        counts = edge.ledger.imported, edge.ledger.cleared, edge.ledger.superseded
        assert counts == (len(edge.commits), len(removed), len(superseded))
        files = {path: node.content for path, node in edge.files.items()}
        assert files == self.fold(edge.commits)
        if edge.settings.on_give_up == "quarantine":
            self.check_held(edge, held, skipped)
        else:
            assert edge.commits == sorted(edge.commits)
            assert files == self.fold(sorted(concerned - removed - failed)), "leaving out changed the outcome"

    def check_held(self, edge: Edge, held: set[int], skipped: set[int]) -> None:
        """Only failed packages are held, and those that would overtake them; and none did."""
        assert not edge.ledger.held or edge.ledger.held[0].waits_for < 0
        assert not any(package.due for package in edge.ledger.held)
        assert edge.ledger.skipped == len(skipped)
        for offset in held:
            before = {self.sent[other].path for other in held if other < offset}
            assert self.sent[offset].damaged or self.sent[offset].path in before
            assert all(self.sent[later].path != self.sent[offset].path for later in edge.commits if later > offset)

    def fold(self, offsets: Iterable[int]) -> dict[str, bytes]:
        tree: dict[str, bytes | None] = {}
        for offset in offsets:
            tree[self.sent[offset].path] = self.sent[offset].content
        return {path: content for path, content in tree.items() if content is not None}


class PublishedFleet(Fleet):
    """A fleet whose packages come from publisher agents, which die like all agents."""

    def __init__(self, simulation: Simulation, tmp_path: Path) -> None:
        super().__init__(simulation, tmp_path)
        self.damage = 0
        self.faulty_log = FaultyLog(self.log, self.faults)  # only a log with keys makes a request idempotent
        self.publishers: dict[str, Agent] = {}

    def agents(self) -> list[tuple[Agent, tuple[ActorSpec, ...]]]:
        actors = publisher.actors(PublisherSettings("site", "i", TOPICS))
        return super().agents() + [(agent, actors) for agent in self.publishers.values()]

    async def start_publishers(self) -> None:
        async def world() -> World:
            return AgentWorld(self.faulty_log, self.blobs, self.tmp_path)

        for name in ("site", "shop"):
            (self.tmp_path / "source" / name).mkdir(parents=True, exist_ok=True)
            spec = AgentSpec(name, publisher.actors(PublisherSettings(name, "i", TOPICS)), world)
            self.publishers[name] = await self.simulation.start(spec, LIMITS)

    async def send(self, package_id: str, kind: Kind, sent: Sent) -> int:
        """Ask until it is accepted."""
        source = self.tmp_path / "source"
        if sent.content is not None:
            source.joinpath(sent.path[1:]).write_bytes(sent.content)
        request = DistributeRequest(request_id=package_id, kind=kind, paths=(sent.path,), source=str(source))
        while True:
            with suppress(NotAnswered):
                answer = await self.publishers[sent.publisher].ask(publisher.roles.DISTRIBUTOR, request, 5)
                assert isinstance(answer, DistributeResponse)
                if answer.accepted:
                    return answer.offset
                assert answer.retry, answer.reason


def simulate(seed: int, tmp_path: Path, kind: type[Fleet] = Fleet) -> tuple[str, Fleet]:
    with capture_logs() as lines, Simulation(seed) as simulation:
        fleet = kind(simulation, tmp_path)
        simulation.run(fleet.play())
        for edge in fleet.edges:
            simulation.run(fleet.check(edge))
    assert [line for line in lines if line["event"] == "actor.crashed"] == []
    return simulation.trace, fleet


@pytest.mark.proves("F72", "W7")
@pytest.mark.parametrize("kind", [Fleet, PublishedFleet])
@pytest.mark.parametrize("seed", seeds())
def test_every_package_takes_effect_once_and_is_reported_once(seed: int, kind: type[Fleet], tmp_path: Path) -> None:
    try:
        _, fleet = simulate(seed, tmp_path, kind)
    except BaseException as error:
        error.add_note(f"replay with: CALLBOARD_SEEDS={seed} python -m pytest {Path(__file__).name} -k {kind.__name__}")
        raise
    assert len(fleet.sent) == PACKAGES


def test_faults_happen_and_actors_of_every_role_are_killed(tmp_path: Path) -> None:
    fleets = [simulate(seed, tmp_path)[1] for seed in range(5)]
    assert all(fleet.faults.count > 5 for fleet in fleets)
    assert set().union(*(fleet.kills for fleet in fleets)) == {
        actor.role for actor in subscriber.actors(fleets[0].edges[0].settings)
    }


def test_the_same_seed_gives_the_same_trace(tmp_path: Path) -> None:
    traces = [simulate(seed, tmp_path)[0] for seed in (1, 2, 1)]
    assert traces[0] == traces[2] != traces[1]
