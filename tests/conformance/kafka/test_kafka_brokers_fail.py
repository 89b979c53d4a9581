"""Brokers that are killed, frozen or gone for good, while writers retry and readers continue."""

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from itertools import pairwise

import pytest

from callboard.backends.log import Log
from callboard.backends.logs.kafka.address import parse_address
from callboard.backends.logs.kafka.log import KafkaLog
from callboard.backends.logs.tail import SharedTail
from callboard.errors import LogUnavailable
from callboard.messages.record import NewRecord
from callboard.testing.servers.kafka import LocalKafka

pytestmark = pytest.mark.kafka
FREEZE_S = 2.5
"""Longer than the requests of these tests may take."""

TOPIC = "package"
DEADLINE_S = 90.0
WRITERS = 4
BETWEEN = 60
"""How many appends of all writers lie between one deed and the next."""


class Fleet:
    """Writers, each with its own log, and a reader that follows them."""

    def __init__(self, servers: str, options: str) -> None:
        self._address = parse_address(f"kafka://{servers}/?{options}")
        self.acknowledged: list[list[str]] = [[] for _ in range(WRITERS)]
        self.seen: list[tuple[int, str]] = []
        self._stopping = False
        self._written = False

    @property
    def count(self) -> int:
        return sum(map(len, self.acknowledged)) // 2

    async def write(self, writer: int) -> None:
        """Append pairs of records, each until it is acknowledged."""
        log = KafkaLog(self._address)
        number = 0
        while not self._stopping:
            pair = [f"{writer} {number} {part}" for part in "ab"]
            with suppress(LogUnavailable):
                await log.append(TOPIC, [NewRecord(payload=text.encode()) for text in pair])
                self.acknowledged[writer] += pair
                number += 1
        await log.close()

    async def follow(self) -> None:
        """Read as long as anything is written, and to the end."""
        log: Log = SharedTail(KafkaLog(self._address))
        position = 0
        while True:
            written = self._written
            with suppress(LogUnavailable):
                found = await log.read(TOPIC, position)
                self.seen += [(record.offset, record.payload.decode()) for record in found]
                position = found[-1].offset + 1 if found else position
                if not found and written:
                    break
                if not found:
                    await log.wait(TOPIC, position, 0.2)
        await log.close()

    async def run(self, deeds: list[Callable[[], Awaitable[None]]]) -> None:
        """Carry out the deeds while all of them work, then let them finish."""
        reader = asyncio.create_task(self.follow())
        writers = [asyncio.create_task(self.write(number)) for number in range(WRITERS)]
        for deed in deeds:
            await self._after(BETWEEN)
            await deed()
        await self._after(BETWEEN)
        self._stopping = True
        await asyncio.gather(*writers)
        self._written = True
        await reader

    async def _after(self, appends: int) -> None:
        goal = self.count + appends
        while self.count < goal:  # noqa: ASYNC110 - four writers move it
            await asyncio.sleep(0.01)

    def check(self) -> None:
        """Nothing acknowledged is lost; once repetitions are dropped, each writer's records are in order."""
        offsets = [offset for offset, _ in self.seen]
        assert all(one < two for one, two in pairwise(offsets))
        first_seen = list(dict.fromkeys(text for _, text in self.seen))
        for writer, acknowledged in enumerate(self.acknowledged):
            mine = [text for text in first_seen if text.startswith(f"{writer} ")]
            assert mine[: len(acknowledged)] == acknowledged
            assert len(mine) - len(acknowledged) in {0, 2}  # the last pair may be there unacknowledged, and whole
        pairs = [text for _, text in self.seen]
        assert all(one[:-1] == two[:-1] for one, two in zip(pairs[::2], pairs[1::2], strict=True))  # all or none


async def create(servers: str) -> None:
    """Create the topic, however long it takes."""
    log = KafkaLog(parse_address(f"kafka://{servers}"))
    await log.ensure(TOPIC)
    await log.close()


def run(servers: str, deeds: list[Callable[[], Awaitable[None]]], options: str = "") -> None:
    asyncio.run(create(servers))
    fleet = Fleet(servers, options)
    asyncio.run(asyncio.wait_for(fleet.run(deeds), DEADLINE_S))
    fleet.check()


def test_nothing_is_lost_when_the_broker_is_killed_and_comes_back(own_kafka: LocalKafka) -> None:
    async def restart() -> None:
        own_kafka.kill(1)
        await asyncio.to_thread(own_kafka.start)

    run(own_kafka.bootstrap, [restart], "request_timeout_ms=1000")


def test_nothing_is_lost_when_the_broker_freezes_for_longer_than_the_request_timeout(own_kafka: LocalKafka) -> None:
    async def freeze() -> None:
        own_kafka.signal(1, signal.SIGSTOP)
        await asyncio.sleep(FREEZE_S)
        own_kafka.signal(1, signal.SIGCONT)

    run(own_kafka.bootstrap, [freeze], "request_timeout_ms=1000")


@pytest.mark.skipif("CALLBOARD_LONG" not in os.environ, reason="takes a minute; set CALLBOARD_LONG=1")
@pytest.mark.timeout(300)
def test_another_broker_takes_over_when_one_is_killed(three_brokers: LocalKafka) -> None:
    async def kill(node: int) -> None:
        three_brokers.kill(node)

    async def start() -> None:
        await asyncio.to_thread(three_brokers.start)

    deeds = [deed for node in three_brokers.nodes() for deed in (partial(kill, node), start)]
    run(three_brokers.bootstrap, deeds, "request_timeout_ms=3000")


def test_a_log_without_a_broker_says_so_and_works_once_there_is_one(own_kafka: LocalKafka) -> None:
    async def test() -> None:
        await create(own_kafka.bootstrap)
        log = KafkaLog(parse_address(f"kafka://{own_kafka.bootstrap}/?request_timeout_ms=500"))
        with suppress(LogUnavailable):
            await log.read(TOPIC, 0)
        own_kafka.kill(1)
        for call in (
            lambda: log.append(TOPIC, [NewRecord(payload=b"x")]),
            lambda: log.read(TOPIC, 0),
            lambda: log.wait(TOPIC, 0, 5),
            lambda: log.bounds(TOPIC),
            lambda: log.ensure("other"),
        ):
            with pytest.raises(LogUnavailable, match=r"refuses connections|closed the connection"):
                await call()
        await asyncio.to_thread(own_kafka.start)
        while True:
            with suppress(LogUnavailable):
                await log.append(TOPIC, [NewRecord(payload=b"x")])
                break
        await log.close()
        log = KafkaLog(parse_address(f"kafka://{own_kafka.bootstrap}"))
        assert await log.wait(TOPIC, 0, 10)
        assert (await log.read(TOPIC, 0))[-1].payload == b"x"
        await log.close()

    asyncio.run(asyncio.wait_for(test(), DEADLINE_S))
