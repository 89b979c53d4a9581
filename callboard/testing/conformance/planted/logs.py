"""Broken logs."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from callboard.backends.log import READ_BYTES_MAX, READ_RECORDS_MAX, Bounds, Capability, Log, Retention
from callboard.backends.logs.memory import MemoryLog
from callboard.errors import OffsetOutOfRange, TopicMissing
from callboard.messages.record import NewRecord, Record
from callboard.testing.conformance.candidates.memory_log import Clock
from callboard.testing.conformance.log import LogHarness

_RIGHT = MemoryLog().capabilities


class LosesAnAppend(MemoryLog):
    """Acknowledges a record and does not keep it."""

    async def append(self, topic: str, records: Sequence[NewRecord]) -> list[int]:
        offsets = await super().append(topic, records)
        if offsets and offsets[-1] == 13:
            del self._topic(topic).records[-1]
        return offsets


class LosesTheRestOfABatch(MemoryLog):
    """Appends the records of a batch one by one, so that an error leaves half of it."""

    async def append(self, topic: str, records: Sequence[NewRecord]) -> list[int]:
        offsets: list[int] = []
        for record in records:  # not all or none
            offsets += await super().append(topic, [record])
        return offsets


class ReordersABatch(MemoryLog):
    """Writes a batch backwards."""

    async def append(self, topic: str, records: Sequence[NewRecord]) -> list[int]:
        return (await super().append(topic, records[::-1]))[::-1]


class GivesAnOffsetTwice(MemoryLog):
    """Reuses an offset, once."""

    async def append(self, topic: str, records: Sequence[NewRecord]) -> list[int]:
        offsets = await super().append(topic, records)
        held = self._topic(topic)
        if held.end == 6:
            held.end = 5
        return offsets


class AnswersWithTheOffsetAfter(MemoryLog):
    """Is off by one."""

    async def append(self, topic: str, records: Sequence[NewRecord]) -> list[int]:
        return [offset + 1 for offset in await super().append(topic, records)]


class IgnoresKeys(MemoryLog):
    """Declares keys and appends a repeated record again."""

    async def append(self, topic: str, records: Sequence[NewRecord]) -> list[int]:
        return await super().append(topic, [replace(record, key="") for record in records])


class KeepsKeysForEver(MemoryLog):
    """Rejects a key whose record was trimmed."""

    async def trim(self, topic: str, retention: Retention) -> int:
        keys = dict(self._topic(topic).keys)
        first = await super().trim(topic, retention)
        self._topic(topic).keys.update(keys)
        return first


class DropsHeaders(MemoryLog):
    """Keeps payloads only."""

    async def append(self, topic: str, records: Sequence[NewRecord]) -> list[int]:
        return await super().append(topic, [replace(record, headers=()) for record in records])


class SortsHeaders(MemoryLog):
    """Gives headers back in another order."""

    async def append(self, topic: str, records: Sequence[NewRecord]) -> list[int]:
        return await super().append(
            topic, [replace(record, headers=tuple(sorted(record.headers))) for record in records]
        )


class _Reads(MemoryLog):
    """A hook for bugs in what was read."""

    def spoil(self, start: int, found: list[Record]) -> list[Record]:
        raise AssertionError

    async def read(self, topic: str, start: int, *limits: int, **named: int) -> list[Record]:
        return self.spoil(start, await super().read(topic, start, *limits, **named))


class ReadsAfterTheStart(_Reads):
    """Takes the start for the last record already read."""

    def spoil(self, start: int, found: list[Record]) -> list[Record]:
        return [record for record in found if record.offset > start]


class ReadsOutOfOrder(_Reads):
    """Returns some pages in reverse order."""

    def spoil(self, start: int, found: list[Record]) -> list[Record]:
        return found[::-1] if len(found) == 7 else found


class RepeatsARecord(_Reads):
    """Returns a record twice in a page."""

    def spoil(self, start: int, found: list[Record]) -> list[Record]:
        return found[:3] + found[2:] if len(found) > 10 else found


class SkipsARecord(_Reads):
    """Does not find one of the records."""

    def spoil(self, start: int, found: list[Record]) -> list[Record]:
        return [record for record in found if record.offset != 12]


class CutsPayloads(_Reads):
    """Takes trailing zeros for padding."""

    def spoil(self, start: int, found: list[Record]) -> list[Record]:
        return [replace(record, payload=record.payload.rstrip(b"\0")) for record in found]


class ForgetsTheBytes(MemoryLog):
    """Ignores the limit of bytes."""

    async def read(self, topic: str, start: int, *limits: int, **named: int) -> list[Record]:
        return await super().read(topic, start, *limits[:1], **named | {"max_bytes": 1 << 60})


class ReturnsNothingThatIsTooLarge(MemoryLog):
    """Stops forever at a record larger than a page."""

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
    """Moves an offset out of range to one in range."""

    async def read(self, topic: str, start: int, *limits: int, **named: int) -> list[Record]:
        first, end = await self.bounds(topic)
        return await super().read(topic, min(max(start, first), end), *limits, **named)


class RefusesTheEnd(MemoryLog):
    """Takes the end for out of range."""

    async def read(self, topic: str, start: int, *limits: int, **named: int) -> list[Record]:
        first, end = await self.bounds(topic)
        if start == end:
            raise OffsetOutOfRange(topic, start, first, end)
        return await super().read(topic, start, *limits, **named)


class NeverWakes(MemoryLog):
    """Sits out every wait."""

    async def wait(self, topic: str, start: int, timeout_s: float) -> bool:
        if not self._topic(topic).holds(start):
            await asyncio.sleep(timeout_s)
        return self._topic(topic).holds(start)


class WakesForNothing(MemoryLog):
    """Ends every wait at once."""

    async def wait(self, topic: str, start: int, timeout_s: float) -> bool:
        self._topic(topic)
        return True


class CancelsEveryone(MemoryLog):
    """Cancels all waiters with the first."""

    async def wait(self, topic: str, start: int, timeout_s: float) -> bool:
        held = self._topic(topic)
        if not held.holds(start) and timeout_s:
            await asyncio.wait_for(held.appended.next_ring(), timeout_s)
        return not self._closed and held.holds(start)


class HangsWhenClosed(MemoryLog):
    """Leaves waiters waiting."""

    async def close(self) -> None:
        self._closed = True


class ForgetsTheEnd(MemoryLog):
    """Restarts its offsets after everything was trimmed."""

    async def trim(self, topic: str, retention: Retention) -> int:
        first = await super().trim(topic, retention)
        held = self._topic(topic)
        if not held.records:
            held.end = first = 1
        return first


class TrimsOneTooMany(MemoryLog):
    """Is off by one with a trim."""

    async def trim(self, topic: str, retention: Retention) -> int:
        if retention.below_offset is not None:
            retention = Retention(below_offset=retention.below_offset + 1)
        return await super().trim(topic, retention)


class TrimsAnyLog(MemoryLog):
    """Applies offsets of another log."""

    async def trim(self, topic: str, retention: Retention) -> int:
        return await super().trim(topic, replace(retention, log_id=""))


class TrimsWhatIsKept(MemoryLog):
    """Applies the limits alone, and removes what is still needed."""

    async def trim(self, topic: str, retention: Retention) -> int:
        return await super().trim(topic, replace(retention, keep_from=None))


class BelievesWhatIsDatedAhead(MemoryLog):
    """Stops a trim by age at a record dated in the future."""

    async def trim(self, topic: str, retention: Retention) -> int:
        young_ns = self._clock() - int((retention.older_than_s or 0) * 1e9)
        young = [record.offset for record in self._topic(topic).records if record.time_ns >= young_ns]
        if retention.older_than_s is not None and young:
            retention = replace(retention, keep_from=min(young[0], retention.keep_from or young[0]))
        return await super().trim(topic, retention)


class GoesByTheLastOldRecord(MemoryLog):
    """Removes by age everything before a record that is too old."""

    async def trim(self, topic: str, retention: Retention) -> int:
        young_ns = self._clock() - int((retention.older_than_s or 0) * 1e9)
        old = [record.offset for record in self._topic(topic).records if record.time_ns < young_ns]
        if retention.older_than_s is not None and old:
            retention = Retention(below_offset=old[-1] + 1, keep_from=retention.keep_from)
        return await super().trim(topic, retention)


class TrimsNothing(MemoryLog):
    """Declares ``TRIM`` but does not trim."""

    async def trim(self, topic: str, retention: Retention) -> int:
        return (await self.bounds(topic)).first


class EndsTooEarly(MemoryLog):
    """Leaves the newest record out of its bounds."""

    async def bounds(self, topic: str) -> Bounds:
        first, end = await super().bounds(topic)
        return Bounds(first, max(first, end - 1))


class MakesTopics(MemoryLog):
    """Creates a topic for a misspelt name."""

    async def append(self, topic: str, records: Sequence[NewRecord]) -> list[int]:
        try:
            return await super().append(topic, records)
        except TopicMissing:
            await self.ensure(topic)
            return await super().append(topic, records)


class SharesItsTopics(MemoryLog):
    """Keeps the records of all topics in one."""

    async def ensure(self, topic: str) -> None:
        await super().ensure(topic)
        self._topics[topic] = next(iter(self._topics.values()))


class ChangesItsIdentity(MemoryLog):
    """Is another log after every append."""

    async def identity(self, topic: str) -> str:
        return f"{await super().identity(topic)}-{(await self.bounds(topic)).end}"


class BoastsOfDurability(MemoryLog):
    """Declares to be durable."""

    capabilities = _RIGHT | Capability.DURABLE


class BoastsOfSharing(MemoryLog):
    """Declares to be shared."""

    capabilities = _RIGHT | Capability.SHARED


class HidesItsKeys(MemoryLog):
    """Honours keys without declaring them."""

    capabilities = Capability.TRIM


class HidesItsTrim(MemoryLog):
    """Trims without declaring it."""

    capabilities = Capability.KEYS


class HidesItsTrimByBytes(MemoryLog):
    """Trims by bytes without declaring it."""

    capabilities = Capability.KEYS | Capability.TRIM


class ReadsPastAnOpenTransaction(MemoryLog):
    """Assigns offsets before it commits, so that a record appears below others that were already read."""

    async def append(self, topic: str, records: Sequence[NewRecord]) -> list[int]:
        offsets = await super().append(topic, records)
        held = self._topic(topic)
        if len(offsets) == 1 and offsets[0] % 5 == 0:
            (uncommitted,) = [record for record in held.records if record.offset == offsets[0]]
            held.records.remove(uncommitted)
            await asyncio.sleep(0.01)
            held.records.append(uncommitted)
            held.records.sort(key=lambda record: record.offset)
            held.appended.ring()
        return offsets


class BeginsAnewUnderTheOldIdentity(MemoryLog):
    """Gives every incarnation of a topic the same identity."""

    async def identity(self, topic: str) -> str:
        await super().identity(topic)
        return f"the one called {topic}"


class RemembersAnIdentity(MemoryLog):
    """Does not notice that a topic was replaced, and continues to read the new one."""

    async def identity(self, topic: str) -> str:
        identity = await super().identity(topic)
        self._remembered: dict[str, str] = getattr(self, "_remembered", {})
        return self._remembered.setdefault(topic, identity)


class WakesLate(MemoryLog):
    """Polls for new records, far too seldom."""

    async def wait(self, topic: str, start: int, timeout_s: float) -> bool:
        if not self._topic(topic).holds(start):
            await asyncio.sleep(min(timeout_s, 9.0))
        return not self._closed and self._topic(topic).holds(start)


@contextmanager
def broken_log(kind: Callable[[Callable[[], int]], MemoryLog]) -> Iterator[LogHarness]:
    """A harness for a log of this kind."""
    clock = Clock()

    async def make() -> Log:
        return kind(clock)

    async def replace(log: Log, topic: str) -> None:
        assert isinstance(log, MemoryLog)
        del log._topics[topic]
        await log.ensure(topic)

    yield LogHarness(open=make, pass_time=clock.pass_time, replace=replace)
