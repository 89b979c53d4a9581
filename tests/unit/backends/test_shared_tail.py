"""What the shared tail is for, beyond being a log like any other."""

import asyncio
from pathlib import Path

from callboard.backends.log import READ_BYTES_MAX, READ_RECORDS_MAX, Retention
from callboard.backends.logs.memory import MemoryLog
from callboard.backends.logs.sqlite import SqliteLog
from callboard.backends.logs.tail import SharedTail
from callboard.errors import LogUnavailable
from callboard.messages.record import NewRecord, Record

TOPIC = "package"
FOLLOWERS = 100


class CountingLog(MemoryLog):
    """Counts the reads, and how many waits are under way at most."""

    def __init__(self) -> None:
        super().__init__()
        self.reads = self.waits = self.waits_max = self.looks = 0

    async def read(
        self,
        topic: str,
        start: int,
        max_records: int = READ_RECORDS_MAX,
        max_bytes: int = READ_BYTES_MAX,
    ) -> list[Record]:
        self.reads += 1
        await asyncio.sleep(0)  # as if it took time, so that others come meanwhile
        return await super().read(topic, start, max_records, max_bytes)

    async def identity(self, topic: str) -> str:
        self.looks += 1
        found = await super().identity(topic)
        await asyncio.sleep(0)
        return found

    async def wait(self, topic: str, start: int, timeout_s: float) -> bool:
        self.waits += 1
        self.waits_max = max(self.waits, self.waits_max)
        try:
            return await super().wait(topic, start, timeout_s)
        finally:
            self.waits -= 1


async def follow(log: SharedTail, count: int) -> list[bytes]:
    seen, start = list[bytes](), 1
    while len(seen) < count:
        found = await log.read(TOPIC, start)
        seen += [record.payload for record in found]
        start = found[-1].offset + 1 if found else start
        if not found:
            await log.wait(TOPIC, start, 30)
    return seen


def test_a_record_is_read_once_for_any_number_of_followers() -> None:
    async def scenario() -> None:
        below = CountingLog()
        log = SharedTail(below)
        await log.ensure(TOPIC)
        followers = [asyncio.ensure_future(follow(log, 20)) for _ in range(FOLLOWERS)]
        while not below.waits:  # noqa: ASYNC110 - there is no event for it
            await asyncio.sleep(0)
        for number in range(20):
            await log.append(TOPIC, [NewRecord(payload=b"%d" % number)])
            end = (await log.bounds(TOPIC)).end
            assert await log.wait(TOPIC, end - 1, 30)
        expected = [b"%d" % number for number in range(20)]
        assert await asyncio.gather(*followers) == [expected] * FOLLOWERS
        assert below.reads < 3 * 20 + FOLLOWERS  # each begins by looking for itself
        assert below.waits_max == 1
        await log.close()

    asyncio.run(scenario())


def test_recent_records_take_bounded_memory() -> None:
    async def scenario() -> None:
        below = CountingLog()
        log = SharedTail(below, max_bytes=10_000)
        await log.ensure(TOPIC)
        for number in range(100):
            await log.append(TOPIC, [NewRecord(payload=bytes(1000))])
            await log.read(TOPIC, number + 1)
        reads = below.reads
        assert len(await log.read(TOPIC, 92)) == 9
        assert below.reads == reads
        assert len(await log.read(TOPIC, 80)) == 21
        assert below.reads == reads + 1
        await log.close()

    asyncio.run(scenario())


def test_a_trim_by_another_process_does_not_block_waiting_readers(tmp_path: Path) -> None:
    async def scenario() -> None:
        log, other = SharedTail(SqliteLog(tmp_path)), SqliteLog(tmp_path)
        await log.ensure(TOPIC)
        await log.append(TOPIC, [NewRecord(payload=b"old")])
        await log.read(TOPIC, 1)
        await other.append(TOPIC, [NewRecord(payload=b"never seen here")] * 5)
        await other.trim(TOPIC, Retention(below_offset=7))
        waiting = asyncio.ensure_future(log.wait(TOPIC, 2, 30))
        assert await other.append(TOPIC, [NewRecord(payload=b"new")]) == [7]
        assert await waiting
        assert [record.payload for record in await log.read(TOPIC, 7)] == [b"new"]
        await log.close()
        await other.close()

    asyncio.run(scenario())


def test_concurrent_requests_for_the_identity_share_one_look_that_began_after_them() -> None:
    async def scenario() -> None:
        below = CountingLog()
        log = SharedTail(below)
        await log.ensure(TOPIC)
        asked = [asyncio.ensure_future(log.identity(TOPIC)) for _ in range(FOLLOWERS)]
        assert set(await asyncio.gather(*asked)) == {await below.identity(TOPIC)}
        assert below.looks == 3  # the first one's, one for all who came during that, and the test's

    asyncio.run(scenario())


def test_a_wait_that_begins_during_the_close_ends_with_it() -> None:
    async def scenario() -> None:
        log = SharedTail(CountingLog())
        await log.ensure(TOPIC)
        waiting = asyncio.ensure_future(log.wait(TOPIC, 1, 30))
        await asyncio.sleep(0)  # it is about to read
        await log.close()
        assert await waiting is False

    asyncio.run(scenario())


class FailingLog(CountingLog):
    """Its next looks at an identity fail, or never end."""

    def __init__(self, *troubles: LogUnavailable | asyncio.Event) -> None:
        super().__init__()
        self.troubles = list(troubles)

    async def identity(self, topic: str) -> str:
        await asyncio.sleep(0)
        match self.troubles.pop(0) if self.troubles else None:
            case asyncio.Event() as event:
                await event.wait()
            case LogUnavailable() as error:
                raise error
        return await super().identity(topic)


def test_the_remains_of_a_failed_look_are_not_taken_for_the_identity() -> None:
    async def scenario() -> None:
        log = SharedTail(FailingLog(LogUnavailable("first"), LogUnavailable("second")))
        await log.ensure(TOPIC)
        first, *others = await asyncio.gather(*(log.identity(TOPIC) for _ in range(9)), return_exceptions=True)
        assert str(first) == "first"
        assert {str(other) for other in others} == {"second"}  # shared: none waits for a server nine times
        assert await log.identity(TOPIC)

    asyncio.run(scenario())


def test_a_cancelled_look_answers_no_request() -> None:
    async def scenario() -> None:
        below = FailingLog(LogUnavailable("first"), asyncio.Event())
        log = SharedTail(below)
        await log.ensure(TOPIC)
        first, cancelled, other = asked = [asyncio.ensure_future(log.identity(TOPIC)) for _ in range(3)]
        await asyncio.wait({first})
        while below.troubles:  # noqa: ASYNC110 - there is no event for it
            await asyncio.sleep(0)
        cancelled.cancel()
        await asyncio.wait(asked)
        assert other.result() == await MemoryLog.identity(below, TOPIC)

    asyncio.run(scenario())
