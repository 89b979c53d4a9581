"""The running agents of a board: one for each publisher in use, one for each started subscriber."""

import asyncio
import secrets
import socket
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from callboard.actors import publisher, subscriber
from callboard.actors.core.agent import ActorSpec, Agent, AgentSpec, World, of_the_board
from callboard.actors.publisher import PublisherSettings
from callboard.actors.runtime import Runtime, start_agent
from callboard.actors.subscriber.settings import SubscriberSettings
from callboard.actors.worlds.log_world import LogWorld
from callboard.backends.log import Capability, Log
from callboard.board.connect.opening import open_log_world, open_world, world
from callboard.board.connect.publisher_agent import PublisherAgent
from callboard.board.connect.resources import Resources
from callboard.errors import ConfigError

if TYPE_CHECKING:
    from callboard.actors.entities.entity import Entity
    from callboard.actors.entities.projections import ProjectorSettings
    from callboard.actors.jobs.worker import WorkerSettings
    from callboard.actors.topology.member import MemberSettings
    from callboard.board.connect.folds import EntityOptions, FoldPlaceOf

VIEWER = "/viewer"
"""The name of the publisher agent that only reads and never publishes; no publisher can have this name."""
CLOSE_DRAIN_S = 10.0

Start = Callable[[AgentSpec, SubscriberSettings | None], Awaitable[Agent]]
"""Starts an agent: a subscriber's if there are settings, else a publisher's."""

Run = Callable[[AgentSpec], Awaitable[Agent]]
"""Runs an agent, whose world is open to it."""


class Agents:
    """Starts agents, and stops all that still run at the end.

    Args:
        resources: what embedded agents share.
        runtime: where actors run.
        configure_logging: for ``processes``: called in each of them.
        start: starts an agent; the default runs it.
        run: runs an agent; the default runs it in this runtime.
        kept: how entities are kept, by their topics, by those that are only asked, for an agent in another process.
    """

    def __init__(
        self,
        resources: Resources,
        runtime: Runtime = "embedded",
        configure_logging: Callable[[], None] | None = None,
        start: Start | None = None,
        run: Run | None = None,
        kept: Mapping[str, "EntityOptions"] | None = None,
    ) -> None:
        if runtime == "processes" and resources.settings.log.startswith("memory:"):
            raise ConfigError("a log in memory cannot be shared by processes; use sqlite:///./board.db")
        self._resources, self._runtime = resources, runtime
        self._run = run or partial(start_agent, runtime=runtime, configure_logging=configure_logging)
        self._start_agent = start or self._in_runtime
        self._instance = secrets.token_hex(16)
        self._publishers: dict[str, asyncio.Task[Agent]] = {}
        self._keepers: dict[str, asyncio.Task[Agent]] = {}  # by topic; by kind, name and place of a projection
        self._kept: dict[str, EntityOptions] = dict(kept or {})  # by topic
        self._is_asked_only = kept is not None
        self._turns: dict[str, asyncio.Lock] = {}  # by publisher
        self.started: list[Agent] = []
        """Running agents, and those that have ended since the last start."""

    @property
    def embedded(self) -> bool:
        """Whether actors run on this event loop, and share what the board has open."""
        return self._runtime == "embedded"

    @property
    def publishers(self) -> list[str]:
        """The names of the publishers with an agent."""
        return [name for name in self._publishers if name != VIEWER]

    async def publisher(self, name: str) -> Agent:
        """The agent of a publisher: started once, and again if the start failed or the agent has ended."""
        starting = self._publishers.get(name)
        if starting is None or _is_over(starting):
            starting = self._publishers[name] = asyncio.create_task(self._start_publisher(name))
        return await asyncio.shield(starting)  # other callers may wait for it, too: not cancelled with one of them

    def turn(self, publisher: str) -> asyncio.Lock:
        """Held from the comparison of a publisher's tree with the log until the difference is appended."""
        return self._turns.setdefault(publisher, asyncio.Lock())

    async def viewer(self) -> Agent:
        """An agent that can answer questions about the board: any publisher's will do."""
        return await self.publisher(next(iter(self._publishers), VIEWER))

    async def subscriber(self, settings: SubscriberSettings) -> Agent:
        """Start the agent of a subscriber; see ``Subscriber.start``."""
        from callboard.board.connect.functions.hooks import check as check_hooks

        check_hooks(settings.hooks, self._resources.settings.base, processes=self._runtime == "processes")
        return await self._start(f"subscriber {settings.name}", subscriber.actors(settings), settings)

    async def member(self, settings: "MemberSettings") -> Agent:
        """Start the agent of a member of the cluster."""
        from callboard.actors.topology import member

        return await self._start(f"member {settings.instance}", member.actors(settings), None)

    async def worker(self, settings: "WorkerSettings") -> Agent:
        """Start the agent of a worker, which gives jobs to this process."""
        from callboard.actors.jobs import worker

        return await self._start(f"worker {settings.instance}", worker.actors(settings), None)

    async def start(self, spec: AgentSpec) -> Agent:
        """Start an agent that the service wrote."""
        its, log = self._resources, self._resources.log
        for topic in spec.topics:
            await log.ensure(topic)
        if spec.world is of_the_board and self._runtime == "embedded":
            spec = replace(spec, world=partial(self._log_world, spec))
        elif spec.world is of_the_board:
            spec = replace(spec, world=partial(open_log_world, its.settings, spec.topics, spec.effects))
        return self._running(await self._run(spec))

    def keep(self, entity: "type[Entity]", topic: str, options: "EntityOptions") -> None:
        """Remember how the entities of this class are kept. Raises ``ConfigError`` if they are kept in another way."""
        if self._kept.setdefault(topic, options) != options:
            what = f"this board keeps {entity.__name__} with {self._kept[topic]}, not with {options}"
            raise ConfigError(f"{what}; use the same in all places")

    async def keeper(self, entity: "type[Entity]", topic: str, instance: str = "") -> Agent:
        """The agent that keeps the entities of this class: started once, and again as that of a publisher."""
        return await self._once(topic, lambda: self._start_keeper(entity, topic, instance or socket.gethostname()))

    async def keeper_of(self, entity: "type[Entity]") -> Agent:
        """The same, for a class whose topic is not known yet."""
        from callboard.board.connect.folds import topic_of

        return await self.keeper(entity, topic_of(self._resources.settings.prefix, entity))

    async def projector(self, settings: "ProjectorSettings", where: str, instance: str = "") -> Agent:
        """The agent of a projection or a reaction: likewise."""
        topic = self._resources.settings.topics.discovery
        settings = replace(settings, instance=instance or socket.gethostname(), announce=topic)
        kind = "reaction" if settings.row is None else "projection"
        return await self._once(f"/{kind}/{settings.name}/{where}", lambda: self._start_projector(settings, where))

    async def _once(self, name: str, start: Callable[[], Coroutine[Any, Any, Agent]]) -> Agent:
        starting = self._keepers.get(name)
        if starting is None or _is_over(starting):
            starting = self._keepers[name] = asyncio.create_task(start())
        return await asyncio.shield(starting)

    async def _start_keeper(self, entity: "type[Entity]", topic: str, instance: str) -> Agent:
        from callboard.actors import entities
        from callboard.board.connect.folds import EntityOptions, kept

        its = self._kept.setdefault(topic, EntityOptions())
        settings = entities.EntitySettings(
            entity, topic, instance, bool(its.snapshots), its.in_memory, its.runs and not self._is_asked_only,
            announce=self._resources.settings.topics.discovery,
        )  # fmt: skip
        place = kept(entity, topic, its.snapshots, self._resources.settings)
        return await self._start_fold(f"entities {entity.__name__}", entities.actors(settings), place)

    async def _start_projector(self, settings: "ProjectorSettings", where: str) -> Agent:
        from callboard.actors.entities import projections
        from callboard.board.connect.folds import projected

        name = f"projection {settings.name}"
        return await self._start_fold(name, projections.actors(settings), projected(settings, where))

    async def _start_fold(self, name: str, actors: tuple[ActorSpec, ...], place: "FoldPlaceOf") -> Agent:
        from callboard.board.connect.folds import open_world as open_fold_world

        log = self._resources.log  # without one, each attempt of the agent would fail
        world: Callable[[], Awaitable[World]] = partial(
            open_fold_world, self._resources.settings, place, partial(Agents, kept=dict(self._kept))
        )
        if self._runtime == "embedded":
            world = partial(self._fold_world, place, log)
        return self._running(await self._run(AgentSpec(name, actors, world)))

    async def _fold_world(self, place: "FoldPlaceOf", log: Log) -> World:
        from callboard.board.connect.folds import shared_world

        return shared_world(log, self._resources.settings, place, self.keeper_of)

    async def close(self) -> None:
        """Stop all of them."""
        starts = [*self._publishers.values(), *self._keepers.values()]
        for starting in starts:
            starting.cancel()
        await asyncio.gather(*starts, return_exceptions=True)
        await asyncio.gather(*(agent.stop(CLOSE_DRAIN_S) for agent in self.started))
        self.started.clear()
        self._publishers.clear()
        self._keepers.clear()
        self._turns.clear()

    async def _start_publisher(self, name: str) -> Agent:
        board, log = self._resources.settings, self._resources.log
        topics, looks = board.topics, name == VIEWER
        settings = PublisherSettings(
            name=name,
            instance=self._instance,
            topics=topics,
            keys=Capability.KEYS in log.capabilities,
            throttle=board.publishing.throttle,
            events=() if looks else tuple(board.publishing.events),
            blob_grace_s=board.blob_grace_s,
            shortening=None if looks else board.shortening,
        )
        agent = await self._start(f"publisher {name}", publisher.actors(settings), None)
        return PublisherAgent(agent, log, (topics.package, topics.discovery, topics.status))

    async def _start(self, name: str, actors: tuple[ActorSpec, ...], settings: SubscriberSettings | None) -> Agent:
        spec = AgentSpec(name, actors, partial(open_world, self._resources.settings, settings))
        return self._running(await self._start_agent(spec, settings))

    def _running(self, agent: Agent) -> Agent:
        """The agent, which ``close`` stops."""
        self.started = [*(each for each in self.started if not each.has_ended), agent]
        return agent

    async def _in_runtime(self, spec: AgentSpec, settings: SubscriberSettings | None) -> Agent:
        if self._runtime == "embedded":
            spec = replace(spec, world=partial(self._shared_world, settings))
        return await self._run(spec)

    async def _shared_world(self, settings: SubscriberSettings | None) -> World:
        """The world of an embedded agent, which shares the board's log and blob store."""
        its = self._resources
        return world(its.settings, its.log, its.blobs, settings)

    async def _log_world(self, spec: AgentSpec) -> World:
        """Likewise, of an agent that the service wrote."""
        return LogWorld(self._resources.log, topics=spec.topics, effects=spec.effects)


def _is_over(starting: asyncio.Task[Agent]) -> bool:
    """Whether the start failed, or the started agent has ended."""
    return starting.done() and (starting.cancelled() or starting.exception() is not None or starting.result().has_ended)
