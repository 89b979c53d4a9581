"""A board in virtual time: real events on a log in memory, and a real publisher agent that looks at them."""

import socket
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from callboard.actors import publisher
from callboard.actors.core.agent import Agent, AgentSpec, World
from callboard.actors.publisher import PublisherSettings
from callboard.actors.runtime.simulated.simulated import Simulation
from callboard.actors.worlds.world import AgentWorld
from callboard.backends.log import Capability, Retention
from callboard.backends.logs.memory import MemoryLog
from callboard.board.connect.agents import Agents
from callboard.board.connect.resources import Resources
from callboard.board.connect.settings import BoardSettings
from callboard.board.context import BoardContext
from callboard.board.read.status.status import board_status
from callboard.board.views import BoardStatus, SubscriberStatus
from callboard.messages.distribution.topic_messages import (
    DiscoveryMessage,
    ForgottenMessage,
    Kind,
    PackageMessage,
    PackageStatusMessage,
    State,
    Status,
    SubscriberConfiguration,
    SubscriberState,
)
from callboard.messages.event import Event
from callboard.messages.headers import new_record
from callboard.messages.topics import Topics
from callboard.testing.fakes.memory_blob_store import MemoryBlobStore

TOPICS = Topics.with_prefix()


class CountingLog(MemoryLog):
    """Counts what is written to it, and remembers what is read."""

    appends = 0
    reads: list[tuple[str, int, int]]

    async def append(self, topic: str, records: Any) -> list[int]:
        self.appends += 1
        return await super().append(topic, records)

    async def read(self, topic: str, start: int, *args: Any, **kwargs: Any) -> Any:
        found = await super().read(topic, start, *args, **kwargs)
        self.reads.append((topic, start, len(found)))
        return found


class Board:
    """What happened on the log, and what its publisher ``site`` says about it."""

    def __init__(self, folder: Path, max_entries: int = 1000) -> None:
        self.simulation = Simulation(7)
        self.log = CountingLog(lambda: self.now_ns, lambda: "L1")
        self.log.reads = []
        self.topics = TOPICS
        self._blobs = MemoryBlobStore(lambda: self.now_ns)
        self._folder = folder
        self._written = 0
        self._max_entries = max_entries
        for topic in (TOPICS.package, TOPICS.status, TOPICS.discovery, TOPICS.command):
            self.simulation.run(self.log.ensure(topic))
        self.agent: Any = None

    @property
    def now_ns(self) -> int:
        return self.simulation.clock.now().wall_ns

    def pass_time(self, seconds: float) -> None:
        self.simulation.run_for(seconds)

    def write(self, topic: str, event: Event, producer: str = "test") -> int:
        self._written += 1
        record = new_record(event, record_id=f"r{self._written}", time_ns=self.now_ns, producer=producer)
        (offset,) = self.simulation.run(self.log.append(topic, [record]))
        return offset

    def package(self, publisher: str = "site", path: str = "/blog", length: int = 40_000, **said: Any) -> int:
        message = PackageMessage(
            publisher_instance="p1", publisher=publisher, package_id=f"{self._written:032x}", kind=Kind.ADD,
            length=length, paths=(path,), **said,
        )  # fmt: skip
        return self.write(TOPICS.package, message)

    def announce(
        self,
        name: str,
        offset: int,
        state: State = State.IDLE,
        *,
        editable: bool = False,
        since_s: float = 0,
        **said: Any,
    ) -> None:
        configuration = SubscriberConfiguration(
            editable=editable, max_retries=said.pop("max_retries", -1), follows=said.pop("follows", ()),
            repository="/srv/www", golden=said.pop("golden", ""), on_give_up=said.pop("on_give_up", ""),
            include=said.pop("include", ()), exclude=said.pop("exclude", ()),
        )  # fmt: skip
        message = DiscoveryMessage(
            subscriber_instance=f"instance of {name}", subscriber=name, configuration=configuration, state=state,
            states=(SubscriberState(publisher="site", offset=offset),), offset=offset, log_id="L1", host="web-7",
            pid=4711, version="0.1.0", time_ns=self.now_ns, since_ns=self.now_ns - int(since_s * 1e9),
        )  # fmt: skip
        message = replace(message, **said)
        self.write(TOPICS.discovery, message, f"{name}/{message.subscriber_instance}")

    def tell(self, name: str, offset: int, status: Status, reason: str = "", **said: Any) -> None:
        message = PackageStatusMessage(
            subscriber_instance=f"instance of {name}", subscriber=name, publisher="site", offset=offset, status=status,
            reason=reason, time_ns=self.now_ns, sequence=self._written, **said,
        )  # fmt: skip
        self.write(TOPICS.status, message, f"{name}/{message.subscriber_instance}")

    def forget(self, name: str) -> None:
        self.write(TOPICS.discovery, ForgottenMessage(subscriber=name))

    def stop(self) -> None:
        """Stop the publisher agent, if it runs; time passes faster without it."""
        if self.agent is not None:
            self.simulation.run(self.agent.stop(1))
        self.agent = None

    def start(self) -> None:
        """(Re)start the publisher agent."""
        self.stop()
        self.simulation.run(self._start())

    async def _start(self) -> None:
        async def world() -> World:
            return AgentWorld(self.log, self._blobs, self._folder)

        settings = PublisherSettings(name="site", instance="p1", topics=TOPICS, max_entries=self._max_entries)
        spec = AgentSpec("publisher site", publisher.actors(settings), world)
        self.agent = await self.simulation.start(spec)

    @property
    def context(self) -> BoardContext:
        """The board as its parts know it."""

        async def start(*_: Any) -> Agent:
            if self.agent is None:
                await self._start()
            return self.agent  # type: ignore[no-any-return]

        resources = Resources(BoardSettings("memory:", blobs="none"), lambda _: self.log, lambda _: self._blobs)
        self.simulation.run(resources.open())
        return BoardContext(resources, Agents(resources, start=start), lambda: self.now_ns)

    def status(self) -> BoardStatus:
        if self.agent is None:
            self.start()
        return self.simulation.run(self._status())

    async def _status(self) -> BoardStatus:
        return await board_status(self.agent, self.log, TOPICS.package, self.now_ns, 30)

    def row(self, name: str) -> SubscriberStatus:
        (row,) = [row for row in self.status().subscribers if row.name == name]
        return row

    def ask(self, question: Callable[[Any], Any]) -> Any:
        """Run a function of ``callboard.board`` that takes the agent."""
        if self.agent is None:
            self.start()
        return self.simulation.run(question(self.agent))

    def trim(self, below: int) -> None:
        assert Capability.TRIM in self.log.capabilities
        self.simulation.run(self.log.trim(TOPICS.package, Retention(below_offset=below)))

    def close(self) -> None:
        self.stop()
        self.simulation.close()


@pytest.fixture
def board(tmp_path: Path) -> Iterator[Board]:
    it = Board(tmp_path)
    yield it
    it.close()


@pytest.fixture
def unused_port() -> int:
    """A port that nothing listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
