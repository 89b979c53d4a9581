"""A cluster written by hand to a real log, with a board to look at it."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from callboard import Callboard
from callboard.actors.topology.verdict import Verdict
from callboard.backends.log import Log
from callboard.backends.logs.memory import MemoryLog
from callboard.backends.logs.signed_log import SignedLog
from callboard.backends.logs.sqlite.log import SqliteLog
from callboard.board.connect.agents import Agents
from callboard.board.connect.resources import Resources
from callboard.board.connect.settings import BoardSettings
from callboard.board.context import BoardContext
from callboard.messages.headers import new_record
from callboard.messages.reading import Unread
from callboard.messages.record import NewRecord
from callboard.messages.signing import SigningKey
from callboard.messages.topics import control_topic
from callboard.messages.topology.member_event import MemberEvent
from callboard.messages.topology.reading import read
from tests.unit.actors.topology.control_topic import Topic

TOPIC = control_topic()


class Cluster(Topic):
    """The control topic of a new log, where offsets begin at 1 and have no gaps; ``write`` brings it there."""

    start_ms = 0

    def __init__(self, *joined: str, **settings: Any) -> None:
        self.new: list[tuple[int, NewRecord]] = []
        super().__init__(*joined, **settings)

    def append(self, event: MemberEvent | Unread, after_ms: int = 1) -> Verdict:
        assert not isinstance(event, Unread)
        record = new_record(event, record_id=f"{event.incarnation}/{event.seq}", time_ns=0, producer=event.instance)
        return self.put_record(record, after_ms)

    def put_record(self, record: NewRecord, after_ms: int = 1) -> Verdict:
        """Append any record, such as one that is none of a cluster."""
        self.time_ms = max(self.time_ms, self.start_ms) + after_ms
        self.new.append((self.time_ms, record))
        offset = max(1, self.state.offset + 1)
        event = read(record.at(offset, self.time_ms * 10**6))
        self.state, verdict = self.step(offset, event)
        return verdict

    def step(self, offset: int, event: MemberEvent | Unread) -> Any:
        from callboard.actors.topology.reducer import step

        self.appended.append((offset, self.time_ms, event))
        return step(self.state, offset, self.time_ms, event)


class Stage:
    """An open board on a log whose clock is that of the cluster; on ``below``, if it has a key."""

    def __init__(self, cluster: Cluster, folder: Path | None, key: SigningKey | None) -> None:
        self.cluster, self.now_ms, self.written = cluster, cluster.time_ms, 0
        self.below: Log = SqliteLog(folder, self._now_ns) if folder else MemoryLog(self._now_ns)
        self.log = SignedLog(self.below, key, [key], "callboard.package", self._now_ns) if key else self.below
        resources = Resources(BoardSettings("memory:"), lambda _: self.log)
        self.board = Callboard.on(BoardContext(resources, Agents(resources), self._now_ns))

    def _now_ns(self) -> int:
        return self.now_ms * 10**6

    async def write(self) -> None:
        """Append what the cluster has that the log has not."""
        await self.log.ensure(TOPIC)
        for time_ms, record in self.cluster.new[self.written :]:
            self.now_ms, self.written = time_ms, self.written + 1
            await self.log.append(TOPIC, [record])


def staged(
    work: Callable[[Stage], Awaitable[None]],
    cluster: Cluster | None,
    folder: Path | None = None,
    key: SigningKey | None = None,
) -> None:
    """Do the work on a board with this cluster; on one without a control topic if there is none."""

    async def body() -> None:
        stage = Stage(cluster or Cluster(founded=False), folder, key)
        async with stage.board:
            if cluster is not None:
                await stage.write()
            await work(stage)

    asyncio.run(body())
