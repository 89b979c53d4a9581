"""A whole fleet in one simulation: publishers and subscribers as they really are, on simulated backends."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

from callboard.actors import publisher, subscriber
from callboard.actors.core.agent import AgentSpec, World
from callboard.actors.core.backoff import Backoff
from callboard.actors.core.decision import Perform
from callboard.actors.core.hooks import HookSettings
from callboard.actors.core.shortening_limits import ShorteningLimits
from callboard.actors.publisher import PublisherSettings
from callboard.actors.runtime.simulated.simulated import EPOCH_NS, Simulation
from callboard.actors.subscriber import SubscriberSettings
from callboard.messages.distribution.package_event import KINDS
from callboard.messages.record import Record
from callboard.testing.simulation.distribution.acts import Publish
from callboard.testing.simulation.distribution.oracles.event_oracle import EventOracle
from callboard.testing.simulation.distribution.oracles.subscriber_oracle import SubscriberOracle
from callboard.testing.simulation.distribution.oracles.tenants import Tenants
from callboard.testing.simulation.distribution.plan import HOLDER, PUBLISHERS, Plan
from callboard.testing.simulation.distribution.scene import TOPICS, History, Scene
from callboard.testing.simulation.distribution.world import SimulatedHooks, SimulatedWorld, marked
from callboard.testing.simulation.engine.disk import Disk, SimulatedRepository
from callboard.testing.simulation.engine.fated import Fated
from callboard.testing.simulation.engine.fates import Fates
from callboard.testing.simulation.engine.host import Host
from callboard.testing.simulation.engine.simulated_blobs import SimulatedBlobs
from callboard.testing.simulation.engine.simulated_log import SimulatedLog

BLOB_GRACE_S = 15.0
"""Seconds: more than the clocks of publishers differ, and than a package takes from its blobs to the log."""

JANITOR_HASTE = 60.0
"""The janitor's first run comes after minutes, which are seconds here."""


CLAIMS = {"claim_ttl_s": 3.0, "announce_interval_s": 1.0}

SHORTENING = ShorteningLimits(records=12, slack=4, announced_s=8.0, told_s=8.0, first_s=(0.0, 2.0), again_s=(0.2, 2.0))
"""Announcements stay for more than twice as long as a claim to a name is valid."""

ALL_TOPICS = (TOPICS.package, TOPICS.status, TOPICS.discovery, TOPICS.command, TOPICS.event)


SKEW_S = 1800.0
"""Seconds: an announcement dated further ahead or behind does not tell a publisher that starts after it whether its
writer still runs; the writer counts again with its next announcement."""

KNOWN_S = 10.0
"""Seconds that an event may be on its way to the log; a subscriber that came, or came back, since does not count."""


Judge = Callable[[Scene, str, Callable[[], SubscriberSettings]], SubscriberOracle]
"""Makes the oracle of a subscriber."""


class Edge:
    """A subscriber: its settings, its disk, and its oracle."""

    def __init__(
        self, scene: Scene, name: str, options: Mapping[str, Any], rng: Random, judge: Judge = SubscriberOracle
    ) -> None:
        options = dict(options)
        self.subscriber = options.pop("subscriber", name)
        retries = options.pop("hook_retries", None)
        hooks = HookSettings() if retries is None else HookSettings(after_import="a:hook", max_retries=retries)
        self.name = name
        """Of the host, which is that of the subscriber unless several share one."""
        self.settings = SubscriberSettings(
            name=self.subscriber, place=name, topics=TOPICS, retry=Backoff(first_s=0.2, max_s=2.0), hooks=hooks,
            shortening=SHORTENING, **(CLAIMS | options),
        )  # fmt: skip
        self.disk = Disk(rng)
        self.oracle = judge(scene, self.subscriber, lambda: self.settings)
        self.host: Host
        scene.tenants.settings[self.subscriber] = self.settings
        scene.tenants.longest_s = max(scene.tenants.longest_s, self.settings.claim_ttl_s)
        self._tenants = scene.tenants

    @property
    def renewed(self) -> bool:
        """Whether it has started over. Until it holds its predecessor's name nothing waits for it: it appears, is
        refused, and stops.
        """
        return self.oracle.renewals > 0

    @property
    def active(self) -> bool:
        """Whether it has the subscriber's name."""
        return self._tenants.holder(self.subscriber) == (self.oracle.ledger.instance, self.name)


class Fleet:
    """Everything in one simulation."""

    def __init__(
        self, simulation: Simulation, plan: Plan, folder: Path, publishers: Sequence[str] = PUBLISHERS
    ) -> None:
        self.simulation = simulation
        self.plan = plan
        self.folder = folder
        self.rng = Random(simulation.rng.random())  # noqa: S311  # reproducible, not secret
        self.scene = Scene(self.first, Tenants(self._now_ns, self._suspended_ns))
        self.scene.events = self.events = EventOracle(self.scene, plan.keys, self.passed)
        self.fates = Fates(Random(self.rng.random()), plan.odds)  # noqa: S311  # likewise
        self.log = SimulatedLog(
            simulation.loop, self.rng, self._now_ns, self._dated,
            keys=plan.keys, unrepeatable=(TOPICS.package,), witness=self.appended, trimmed=self.scene.trimmed,
        )  # fmt: skip
        self.blobs = SimulatedBlobs(simulation.loop, self._now_ns)
        self.requests: dict[str, Publish] = {}
        self._hooks: dict[str, SimulatedHooks] = {}
        self.notifying: list[str] = []
        """The publishers that write events."""
        self.edges = {name: self._edge(name, options) for name, options in plan.edges.items()}
        self.publishers = {name: self._publisher(name) for name in publishers}
        self._running: list[asyncio.Task[None]] = []

    @property
    def hosts(self) -> dict[str, Host]:
        """The host of every agent, by the agent's name."""
        return self.publishers | {name: edge.host for name, edge in self.edges.items()}

    def edge(self, name: str) -> Edge:
        """The subscriber of this name, or of the pair the one that has their name now, or the one that stands by."""
        if name in self.edges:
            return self.edges[name]
        one, other = (edge for edge in self.edges.values() if edge.settings.standby)
        tenant = self.scene.tenants.held.get(one.subscriber)
        return one if (tenant is not None and tenant.who[1] == one.name) == (name == HOLDER) else other

    def know(self, identity: str, act: Publish) -> None:
        """A package with this id will be published."""
        self.scene.acts[identity] = act

    def appended(self, topic: str, record: Record) -> None:
        """A record is on the log."""
        self.scene.appended(topic, record)

    def first(self) -> int:
        """The oldest offset of the package topic."""
        return self.log.first(TOPICS.package)

    def passed(self, publisher: str) -> dict[str, int]:
        """The announced positions, by name, of the subscribers that this publisher must know of."""
        tenants = self.scene.tenants
        return {
            edge.subscriber: tenants.furthest[edge.subscriber]
            for edge in self.edges.values()
            if edge.settings.follows_publisher(publisher)
            and (edge.active or not edge.renewed)
            and abs(edge.host.clock.now().wall_ns - self._now_ns()) < SKEW_S * 1e9
            and self._now_ns() - tenants.known_ns.get(edge.subscriber, self._now_ns()) > KNOWN_S * 1e9
        }

    async def start(self) -> None:
        """Start everything."""
        for topic in ALL_TOPICS:
            await self.log.memory.ensure(topic)
        identity = await self.log.memory.identity(TOPICS.package)
        self.scene.histories.append(History(identity, self.scene.packages, 0))
        self._running = [asyncio.get_running_loop().create_task(host.run()) for host in self.hosts.values()]

    async def exchange_log(self, since_ns: int | None) -> None:
        """Replace the log by an older copy of it, or by an empty one."""
        await self.log.exchange(ALL_TOPICS, since_ns)
        kept: dict[str, list[Record]] = {}
        for topic in ALL_TOPICS:
            first, end = await self.log.memory.bounds(topic)
            kept[topic] = await self.log.memory.read(topic, first, end)
        self.scene.exchange(await self.log.memory.identity(TOPICS.package), kept)

    async def stop(self) -> None:
        """End everything."""
        for host in self.hosts.values():
            host.closing = True
        await asyncio.gather(*(host.stop(10.0) for host in self.hosts.values()))
        await asyncio.gather(*self._running)

    def _now_ns(self) -> int:
        return self.simulation.clock.now().wall_ns

    def _suspended_ns(self, host: str, since_ns: int) -> int:
        begun_s, ended_s = self.edges[host].host.suspended_s
        since_s, now_s = (since_ns - EPOCH_NS) / 1e9, self.simulation.loop.time()
        return round(max(min(ended_s, now_s) - max(begun_s, since_s), 0.0) * 1e9)

    def _dated(self, topic: str, host: str) -> int:
        """The time of a record: announcements are dated by the host that appends them, as where hosts share a file."""
        edge = self.edges.get(host)
        return edge.host.clock.now().wall_ns if edge and topic == TOPICS.discovery else self._now_ns()

    def _edge(self, name: str, options: Mapping[str, Any]) -> Edge:
        edge = Edge(self.scene, name, options, self.rng, self._judge(name, options))

        async def world() -> World:
            repository = SimulatedRepository(edge.disk, lambda: edge.oracle)
            return self._fated(edge.name, edge.host, self._subscriber_world(edge, repository), edge.oracle.ended)

        actors = partial(marked, haste={}, begins=edge.oracle.begins)

        edge.host = Host(
            self.simulation,
            lambda: AgentSpec(name, actors(subscriber.actors(edge.settings)), world),
            lambda host: edge.disk.crash(edge.oracle, host=host),
        )
        return edge

    def _judge(self, name: str, options: Mapping[str, Any]) -> Judge:  # noqa: ARG002 - others have several
        return SubscriberOracle

    def _subscriber_world(self, edge: Edge, repository: SimulatedRepository) -> World:
        return self._world(edge.name, edge.host, repository)

    def _publisher(self, name: str) -> Host:
        events = KINDS if self.rng.random() < 0.5 else ()
        if events:
            self.notifying.append(name)
        settings = PublisherSettings(
            name,
            "i",
            TOPICS,
            keys=self.plan.keys,
            events=events,
            blob_grace_s=BLOB_GRACE_S,
            shortening=SHORTENING,
        )
        haste = {publisher.roles.BLOB_JANITOR: JANITOR_HASTE}

        async def world() -> World:
            return self._fated(name, host, self._world(name, host, None), lambda _: None)

        host = Host(
            self.simulation,
            lambda: AgentSpec(name, marked(publisher.actors(settings), haste, lambda _: None), world),
            lambda _: None,
        )
        return host

    def _world(self, name: str, host: Host, repository: SimulatedRepository | None) -> SimulatedWorld:
        hooks = self._hooks.setdefault(name, SimulatedHooks(self.scene.acts))
        return SimulatedWorld(
            self.log, self.blobs, self.spool(name), repository=repository, hooks=hooks, clock=host.clock,
            requests=self.requests,
        )  # fmt: skip

    def _fated(self, name: str, host: Host, world: World, ended: Callable[[Perform], None]) -> Fated:
        def note(line: str) -> None:
            self.simulation.note(f"{self.simulation.loop.time():.6f} {name} {line}")

        return Fated(world, host=name, fates=self.fates, strike=host.strike, note=note, ended=ended)

    def spool(self, name: str) -> Path:
        """The folder for temporary files of this agent."""
        spool = self.folder / name
        spool.mkdir(exist_ok=True)
        return spool
