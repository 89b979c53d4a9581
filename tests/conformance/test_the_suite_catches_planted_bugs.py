"""The suite itself is tested: each of these broken logs must fail at least one check."""

import asyncio
from collections.abc import Sequence

import pytest

from callboard.backends.log import READ_BYTES_MAX, READ_RECORDS_MAX, Bounds, Capability, Log, Retention
from callboard.backends.logs.memory import MemoryLog
from callboard.errors import OffsetOutOfRange, TopicMissing
from callboard.messages.record import NewRecord, Record, pack_headers
from callboard.testing.conformance.log import ALL_CHECKS, LogHarness, concurrency, wake_up

CHECK_TIMEOUT_S = 2.0
"""A check that has not passed by then counts as failed: some bugs make followers wait for ever."""


class LosesAnAppend(MemoryLog):
    async def append(self, topic: str, records: Sequence[NewRecord]) -> list[int]:
        offsets = await super().append(topic, records)
        if offsets and offsets[-1] == 13:
            del self._topic(topic).records[-1]
        return offsets


class LosesTheRestOfABatch(MemoryLog):
    async def append(self, topic: str, records: Sequence[NewRecord]) -> list[int]:
        offsets: list[int] = []
        for record in records:  # not all or none
            offsets += await super().append(topic, [record])
        return offsets


class ReordersABatch(MemoryLog):
    async def append(self, topic: str, records: Sequence[NewRecord]) -> list[int]:
        return (await super().append(topic, records[::-1]))[::-1]


class GivesAnOffsetTwice(MemoryLog):
    async def append(self, topic: str, records: Sequence[NewRecord]) -> list[int]:
        offsets = await super().append(topic, records)
        held = self._topic(topic)
        if held.end == 6:
            held.end = 5
        return offsets


class AnswersWithTheOffsetAfter(MemoryLog):
    async def append(self, topic: str, records: Sequence[NewRecord]) -> list[int]:
        return [offset + 1 for offset in await super().append(topic, records)]


class IgnoresKeys(MemoryLog):
    async def append(self, topic: str, records: Sequence[NewRecord]) -> list[int]:
        return await super().append(
            topic, [NewRecord(payload=record.payload, headers=record.headers) for record in records]
        )


class KeepsKeysForEver(MemoryLog):
    async def trim(self, topic: str, retention: Retention) -> int:
        keys = dict(self._topic(topic).keys)
        first = await super().trim(topic, retention)
        self._topic(topic).keys.update(keys)
        return first


class DropsHeaders(MemoryLog):
    async def append(self, topic: str, records: Sequence[NewRecord]) -> list[int]:
        return await super().append(
            topic, [NewRecord(payload=record.payload, key=record.key) for record in records]
        )


class SortsHeaders(MemoryLog):
    async def append(self, topic: str, records: Sequence[NewRecord]) -> list[int]:
        return await super().append(
            topic,
            [
                NewRecord(payload=record.payload, key=record.key, headers=tuple(sorted(record.headers)))
                for record in records
            ],
        )


class _Reads(MemoryLog):
    """A place to plant bugs in what was read."""

    def spoil(self, start: int, found: list[Record]) -> list[Record]:
        raise AssertionError

    async def read(
        self,
        topic: str,
        start: int,
        max_records: int = READ_RECORDS_MAX,
        max_bytes: int = READ_BYTES_MAX,
    ) -> list[Record]:
        return self.spoil(start, await super().read(topic, start, max_records, max_bytes))


class ReadsAfterTheStart(_Reads):
    def spoil(self, start: int, found: list[Record]) -> list[Record]:
        return [record for record in found if record.offset > start]


class ReadsOutOfOrder(_Reads):
    def spoil(self, start: int, found: list[Record]) -> list[Record]:
        return found[::-1] if len(found) == 7 else found


class RepeatsARecord(_Reads):
    def spoil(self, start: int, found: list[Record]) -> list[Record]:
        return found[:3] + found[2:] if len(found) > 10 else found


class SkipsARecord(_Reads):
    def spoil(self, start: int, found: list[Record]) -> list[Record]:
        return [record for record in found if record.offset != 12]


class CutsPayloads(_Reads):
    def spoil(self, start: int, found: list[Record]) -> list[Record]:
        return [
            Record(
                offset=record.offset,
                time_ns=record.time_ns,
                payload=record.payload.rstrip(b"\0"),
                header_block=pack_headers(record.headers),
            )
            for record in found
        ]


class ForgetsTheBytes(MemoryLog):
    async def read(
        self,
        topic: str,
        start: int,
        max_records: int = READ_RECORDS_MAX,
        max_bytes: int = READ_BYTES_MAX,
    ) -> list[Record]:
        return await super().read(topic, start, max_records, 1 << 60)


class ReturnsNothingThatIsTooLarge(MemoryLog):
    async def read(
        self,
        topic: str,
        start: int,
        max_records: int = READ_RECORDS_MAX,
        max_bytes: int = READ_BYTES_MAX,
    ) -> list[Record]:
        found = await super().read(topic, start, max_records, max_bytes)
        return [record for record in found if len(record.payload) <= max_bytes]


class JumpsInSilence(MemoryLog):
    async def read(
        self,
        topic: str,
        start: int,
        max_records: int = READ_RECORDS_MAX,
        max_bytes: int = READ_BYTES_MAX,
    ) -> list[Record]:
        first, end = await self.bounds(topic)
        return await super().read(topic, min(max(start, first), end), max_records, max_bytes)


class RefusesTheEnd(MemoryLog):
    async def read(
        self,
        topic: str,
        start: int,
        max_records: int = READ_RECORDS_MAX,
        max_bytes: int = READ_BYTES_MAX,
    ) -> list[Record]:
        first, end = await self.bounds(topic)
        if start == end:
            raise OffsetOutOfRange(topic, start, first, end)
        return await super().read(topic, start, max_records, max_bytes)


class NeverWakes(MemoryLog):
    async def wait(self, topic: str, start: int, timeout_s: float) -> bool:
        if not self._topic(topic).holds(start):
            await asyncio.sleep(timeout_s)
        return self._topic(topic).holds(start)


class WakesForNothing(MemoryLog):
    async def wait(self, topic: str, start: int, timeout_s: float) -> bool:
        self._topic(topic)
        return True


class CancelsEveryone(MemoryLog):
    async def wait(self, topic: str, start: int, timeout_s: float) -> bool:
        held = self._topic(topic)
        if not held.holds(start) and timeout_s:
            await asyncio.wait_for(held.appended.next_ring(), timeout_s)
        return not self._closed and held.holds(start)


class HangsWhenClosed(MemoryLog):
    async def close(self) -> None:
        self._closed = True


class ForgetsTheEnd(MemoryLog):
    async def trim(self, topic: str, retention: Retention) -> int:
        first = await super().trim(topic, retention)
        held = self._topic(topic)
        if not held.records:
            held.end = first = 1
        return first


class TrimsOneTooMany(MemoryLog):
    async def trim(self, topic: str, retention: Retention) -> int:
        if retention.below_offset is not None:
            retention = Retention(below_offset=retention.below_offset + 1)
        return await super().trim(topic, retention)


class TrimsNothing(MemoryLog):
    async def trim(self, topic: str, retention: Retention) -> int:
        return (await self.bounds(topic)).first


class EndsTooEarly(MemoryLog):
    async def bounds(self, topic: str) -> Bounds:
        first, end = await super().bounds(topic)
        return Bounds(first, max(first, end - 1))


class MakesTopics(MemoryLog):
    async def append(self, topic: str, records: Sequence[NewRecord]) -> list[int]:
        try:
            return await super().append(topic, records)
        except TopicMissing:
            await self.ensure(topic)
            return await super().append(topic, records)


class SharesItsTopics(MemoryLog):
    async def ensure(self, topic: str) -> None:
        await super().ensure(topic)
        self._topics[topic] = next(iter(self._topics.values()))


class ChangesItsIdentity(MemoryLog):
    async def identity(self, topic: str) -> str:
        return f"{await super().identity(topic)}-{(await self.bounds(topic)).end}"


class BoastsOfDurability(MemoryLog):
    @property
    def capabilities(self) -> Capability:
        return super().capabilities | Capability.DURABLE


class BoastsOfSharing(MemoryLog):
    @property
    def capabilities(self) -> Capability:
        return super().capabilities | Capability.SHARED


class HidesItsKeys(MemoryLog):
    @property
    def capabilities(self) -> Capability:
        return Capability.TRIM


class HidesItsTrim(MemoryLog):
    @property
    def capabilities(self) -> Capability:
        return Capability.KEYS


class HidesItsTrimByBytes(MemoryLog):
    @property
    def capabilities(self) -> Capability:
        return Capability.KEYS | Capability.TRIM


PLANTED = (
    LosesAnAppend, LosesTheRestOfABatch, ReordersABatch, GivesAnOffsetTwice, AnswersWithTheOffsetAfter,
    IgnoresKeys, KeepsKeysForEver, DropsHeaders, SortsHeaders, ReadsAfterTheStart, ReadsOutOfOrder,
    RepeatsARecord, SkipsARecord, CutsPayloads, ForgetsTheBytes, ReturnsNothingThatIsTooLarge, JumpsInSilence,
    RefusesTheEnd, NeverWakes, WakesForNothing, CancelsEveryone, HangsWhenClosed, ForgetsTheEnd,
    TrimsOneTooMany, TrimsNothing, EndsTooEarly, MakesTopics, SharesItsTopics, ChangesItsIdentity,
    BoastsOfDurability, BoastsOfSharing, HidesItsKeys, HidesItsTrim, HidesItsTrimByBytes,
)  # fmt: skip

WAITING = [check for check in ALL_CHECKS if check.__module__ in (wake_up.__name__, concurrency.__name__)]
QUICK_FIRST = [check for check in ALL_CHECKS if check not in WAITING] + WAITING


def first_failure(kind: type[MemoryLog]) -> str | None:
    """The first check that the log fails; None if it passes all of them."""

    async def make() -> Log:
        return kind()

    for check in QUICK_FIRST:
        try:
            asyncio.run(asyncio.wait_for(check(LogHarness(open=make)), CHECK_TIMEOUT_S))
        except Exception:  # noqa: BLE001 - whatever it is, it was caught
            return check.__name__
    return None


def test_a_log_without_a_bug_passes() -> None:
    assert first_failure(MemoryLog) is None


@pytest.mark.parametrize("kind", PLANTED, ids=lambda kind: kind.__name__)
def test_a_planted_bug_is_caught(kind: type[MemoryLog]) -> None:
    assert first_failure(kind) is not None
