"""How an agent's world reads the log: what it asks of it, and that it never takes a record for a gap."""

import asyncio
from pathlib import Path

from callboard.actors.core.effects import ReadLog
from callboard.actors.worlds.log_world import LogWorld
from callboard.backends.log import READ_BYTES_MAX, READ_RECORDS_MAX
from callboard.backends.logs.passing_log import PassingLog
from callboard.backends.logs.sqlite import SqliteLog
from callboard.messages.record import NewRecord, Record

TOPIC = "topic"


class Asked(PassingLog):
    """A log that remembers what it was asked, and appends when it is asked for its end."""

    def __init__(self, log: SqliteLog) -> None:
        super().__init__(log)
        self.asked: list[str] = []
        self.late: list[NewRecord] = []
        self.waits = asyncio.Event()

    async def read(
        self, topic: str, start: int, max_records: int = READ_RECORDS_MAX, max_bytes: int = READ_BYTES_MAX
    ) -> list[Record]:
        self.asked.append("read")
        return await super().read(topic, start, max_records, max_bytes)

    async def wait(self, topic: str, start: int, timeout_s: float) -> bool:
        self.asked.append("wait")
        self.waits.set()
        return await super().wait(topic, start, timeout_s)

    async def bounds(self, topic: str):
        if self.late:
            await self.append(topic, [self.late.pop()])
        return await super().bounds(topic)


async def opened(folder: Path) -> Asked:
    log = Asked(SqliteLog(folder))
    await log.ensure(TOPIC)
    return log


def test_behind_what_was_read_it_waits_before_it_reads(tmp_path: Path) -> None:
    async def scenario() -> None:
        log = await opened(tmp_path)
        world = LogWorld(log, owned=True)
        (first,) = await log.append(TOPIC, [NewRecord(payload=b"1")])
        read = await world.perform(ReadLog(TOPIC, first, wait_s=10.0))
        assert (log.asked, read.next) == (["read"], first + 1)

        log.asked.clear()
        following = asyncio.ensure_future(world.perform(ReadLog(TOPIC, read.next, wait_s=30.0)))
        await log.waits.wait()
        await log.append(TOPIC, [NewRecord(payload=b"2")])
        assert [each.payload for each in (await following).records] == [b"2"]
        assert log.asked == ["wait", "read"]
        await world.close()

    asyncio.run(scenario())


def test_a_record_that_comes_while_the_end_is_asked_for_is_not_taken_for_a_gap(tmp_path: Path) -> None:
    async def scenario() -> None:
        log = await opened(tmp_path)
        world = LogWorld(log, owned=True)
        (first,) = await log.append(TOPIC, [NewRecord(payload=b"1")])
        log.late.append(NewRecord(payload=b"2"))
        read = await world.perform(ReadLog(TOPIC, first + 1))
        assert ([each.payload for each in read.records], read.next) == ([b"2"], first + 2)
        assert (await world.perform(ReadLog(TOPIC, first + 2))).next == first + 2
        await world.close()

    asyncio.run(scenario())
