"""Where a story plays: a board in memory and in virtual time, its subscribers, and what may befall them."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

from callboard import Callboard
from callboard.actors.core.agent import Agent, AgentSpec, World
from callboard.actors.core.hooks import HookCall
from callboard.actors.runtime.simulated.simulated import Simulation
from callboard.actors.subscriber import SubscriberSettings
from callboard.actors.worlds.world import AgentWorld
from callboard.backends.blob_store import BlobStore
from callboard.backends.log import Log
from callboard.backends.logs.memory import MemoryLog
from callboard.board.connect.agents import Agents
from callboard.board.connect.functions.hooks import HookRunner
from callboard.board.connect.resources import Resources
from callboard.board.connect.settings import BoardSettings
from callboard.board.context import BoardContext
from callboard.board.subscriber import Subscriber
from callboard.errors import LogUnavailable
from callboard.messages import codec
from callboard.messages.distribution.topic_messages import PackageMessage
from callboard.messages.headers import open_record
from callboard.messages.record import NewRecord
from callboard.testing.fakes.memory_blob_store import MemoryBlobStore
from callboard.testing.fakes.memory_repository import MemoryRepository, MemoryStore

FAILS_AFTER_S = 1.0
"""How long it takes until a cut connection is noticed. In virtual time, like all times here."""


class StageLog(MemoryLog):
    """The log; ``next_package`` is what becomes of the next one on its way: nothing, damaged content, or no message."""

    next_package = ""

    async def append(self, topic: str, records: Sequence[NewRecord]) -> list[int]:
        if topic.endswith(".package") and self.next_package:
            befallen, self.next_package = self.next_package, ""
            records = [_befallen(record, befallen) for record in records]
        return await super().append(topic, records)

    async def replace_by_an_empty_one(self) -> None:
        for topic in list(self._topics):
            gone = self._topics.pop(topic)
            await self.ensure(topic)
            gone.appended.ring()


def _befallen(new: NewRecord, what: str) -> NewRecord:
    if what == "undecodable":
        return replace(new, payload=b"\xff" * 20)
    message = open_record(new.at(0, 0), PackageMessage)
    return replace(new, payload=codec.encode(replace(message, content_digest="0" * 64)))


class Line:
    """A subscriber's connection with the log, which can be cut."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self.cut = False

    def __getattr__(self, name: str) -> Any:
        if self.cut and name in ("append", "read", "bounds", "identity", "wait"):
            return self._fail
        return getattr(self._log, name)

    async def _fail(self, *_: Any) -> Any:
        await asyncio.sleep(FAILS_AFTER_S)
        raise LogUnavailable("the line is cut")


@dataclass
class Edge:
    """A subscriber, what outlives it, and how the service around it is.

    That service refuses packages with one of the paths ``rejects``. ``hook`` is what its hook after an import says, if
    that fails.
    """

    name: str
    store: MemoryStore
    rejects: set[str] = field(default_factory=set)
    hook: str = ""
    calls: int = 0
    subscriber: Subscriber | None = None
    line: Line | None = None

    async def check(self, call: HookCall) -> None:
        if refused := self.rejects.intersection(call.paths):
            raise ValueError(f"{refused.pop()} is malformed")

    async def called(self, call: HookCall) -> None:
        self.calls += 1
        if self.hook:
            raise OSError(self.hook)


class Stage:
    """The board. What it needs of the outer world is in memory."""

    def __init__(self, simulation: Simulation, folder: Path) -> None:
        self.simulation = simulation
        self.folder = folder
        self.edges: dict[str, Edge] = {}
        self.log = StageLog(self._now_ns, partial(next, count(1)))
        self.blobs = MemoryBlobStore(self._now_ns)
        self.lost_blobs: dict[str, tuple[bytes, int]] = {}
        settings = BoardSettings("memory:", blobs="in memory", base=folder)
        resources = Resources(settings, lambda _: self.log, lambda _: self.blobs)
        agents = Agents(resources, start=self._start)
        self.board = Callboard.on(BoardContext(resources, agents, self._now_ns))
        self._opening = ""
        self._publishers: list[Agent] = []

    def _now_ns(self) -> int:
        return self.simulation.clock.now().wall_ns

    async def start_edge(self, key: str, name: str, **options: Any) -> Edge:
        """Start a subscriber; ``key`` tells two of one name apart."""
        edge = self.edges.setdefault(key, Edge(name, MemoryStore()))
        hooks: dict[str, Any] = {"before_import": edge.check}
        if options.pop("hook", False):
            hooks["after_import"] = edge.called
        edge.subscriber = self.board.subscriber(name, key, **options, **hooks)
        self._opening = key
        await edge.subscriber.start()
        return edge

    async def crash(self, edge: Edge) -> None:
        """End it without a word, as a lost host does."""
        assert edge.subscriber is not None
        assert edge.line is not None
        edge.line.cut = True
        with suppress(LogUnavailable):
            await edge.subscriber.stop(0)
        edge.store.crash()

    async def stop_publishers(self) -> None:
        """Let all publishers end; the next request starts them again, with what the log says."""
        for agent in self._publishers:
            await agent.stop(5)
        self._publishers.clear()

    async def _start(self, spec: AgentSpec, settings: SubscriberSettings | None) -> Agent:
        edge = self.edges[self._opening] if settings else None
        agent = await self.simulation.start(replace(spec, world=partial(self._world, settings, edge)))
        if settings is None:
            self._publishers.append(agent)
        return agent

    async def _world(self, settings: SubscriberSettings | None, edge: Edge | None) -> World:
        blobs: BlobStore = self.blobs
        if settings is None or edge is None:
            return AgentWorld(self.log, blobs, self.folder)
        edge.line = Line(self.log)
        hooks = HookRunner(settings.hooks, settings.name, settings.repository, self.folder)
        repository = MemoryRepository(edge.store)
        spool = self.folder / f"spool-{settings.repository}"
        return AgentWorld(edge.line, blobs, spool, repository=repository, hooks=hooks)  # type: ignore[arg-type]
