"""Leaders that lag behind their predecessor, or have no news: no broker does either on demand."""

import asyncio
from typing import Any

import pytest

from callboard.backends.log import Bounds
from callboard.backends.logs.kafka import tail as tail_module
from callboard.backends.logs.kafka.client.batch import Producer, encode
from callboard.backends.logs.kafka.client.cluster import Topic
from callboard.backends.logs.kafka.client.protocol import FetchRequest
from callboard.backends.logs.kafka.reader import Reader
from callboard.backends.logs.kafka.tail import Tail
from callboard.errors import OffsetOutOfRange

TOPIC = Topic("package", bytes(16), "cluster/topic", 1, 1)
SECOND_S = 1.0


class ScriptedLeader:
    """A cluster with one topic of single-record batches, of which each fetch shows up to the next of ``ends``."""

    timeout_ms = 1000

    def __init__(self, end: int, *ends: int) -> None:
        self.end, self.ends = end, list(ends)
        self.forgotten = asyncio.Event()

    async def find(self, name: str) -> Topic:
        return TOPIC

    def forget(self, name: str) -> None:
        self.forgotten.set()

    async def ask(self, topic: Topic, request: Any, purpose: str) -> tuple[Any, ...]:
        if not isinstance(request, FetchRequest):
            return 0, 0, -1, self.end
        await asyncio.sleep(request._max_wait_ms / 1000)
        shown = self.ends.pop(0) if len(self.ends) > 1 else self.ends[0]
        if request._offset > self.end:
            return 0, 1, -1, -1, -1, None, -1, b"", {}
        data = b"".join(self.batch(offset) for offset in range(request._offset, shown))
        return 0, 0, shown, shown, 0, None, -1, data, {}

    def batch(self, offset: int) -> bytes:
        batch = encode([(None, str(offset).encode(), [])], 0, Producer(1, 0, offset))
        return offset.to_bytes(8, "big") + batch[8:]


def test_records_that_a_new_leader_does_not_show_yet_are_waited_for() -> None:
    async def test() -> None:
        reader = Reader(ScriptedLeader(5, 5, 3, 3, 3, 5))
        assert await reader.bounds(TOPIC) == Bounds(0, 5)
        assert [record.offset for record in await reader.read("package", 3, 10, 1000)] == [3, 4]

    asyncio.run(test())


def test_the_former_end_is_not_beyond_the_end_of_a_lagging_leader() -> None:
    async def test() -> None:
        reader = Reader(ScriptedLeader(5, 5, 3))
        await reader.bounds(TOPIC)
        assert await reader.read("package", 5, 10, 1000) == []

    asyncio.run(test())


def test_an_offset_beyond_a_truncated_log_is_out_of_range() -> None:
    async def test() -> None:
        leader = ScriptedLeader(5, 5)
        reader = Reader(leader)
        await reader.bounds(TOPIC)
        leader.end, leader.ends = 3, [3]  # an unclean election
        with pytest.raises(OffsetOutOfRange) as caught:
            await reader.read("package", 5, 10, 1000)
        assert (caught.value.first, caught.value.end) == (0, 3)
        assert await reader.read("package", 3, 10, 1000) == []

    asyncio.run(test())


def test_a_read_at_the_end_without_news_asks_again_for_the_leader(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tail_module, "POLL_MS", 1)
    monkeypatch.setattr(tail_module, "QUIET_S", 0.0)

    async def test() -> None:
        leader = ScriptedLeader(5, 5)
        tail = Tail("package", leader, Reader(leader))
        waiting = asyncio.create_task(tail.wait(5, SECOND_S))
        await leader.forgotten.wait()
        leader.end, leader.ends = 6, [6]  # the new leader has news
        assert await waiting
        await tail.close()

    asyncio.run(test())
