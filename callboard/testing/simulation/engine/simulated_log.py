"""The log of a simulation: it fails, delays, leaves gaps, returns short reads, and may duplicate records."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import replace
from random import Random

from callboard.actors.core.lease import ORIGIN
from callboard.actors.runtime.simulated.virtual_loop import VirtualLoop
from callboard.backends.log import READ_BYTES_MAX, READ_RECORDS_MAX, Capability, Retention
from callboard.backends.logs.memory import MemoryLog
from callboard.backends.logs.passing_log import P, PassingLog, T
from callboard.backends.logs.restorable import Returned
from callboard.errors import LogUnavailable
from callboard.messages.record import NewRecord, Record
from callboard.testing.simulation.engine.fates import CALLER, after_deed, before_deed

GAP_MAX = 3
"""Longest gap in offsets, such as aborted transactions leave."""


class SimulatedLog(PassingLog):
    """See ``callboard.backends.log.Log``.

    Args:
        loop: has the virtual time.
        rng: decides.
        clock: the time, in nanoseconds.
        dated: the time of a record, by its topic and the host that appends it.
        keys: whether it supports keys; without them it may duplicate a record.
        unrepeatable: topics without duplicates.
        witness: receives every record, in the order of the log.
        trimmed: receives what a trim has left of a topic.
        leading_gaps: whether a topic may begin with a gap, which looks as if its first records were trimmed.
    """

    def __init__(
        self,
        loop: VirtualLoop,
        rng: Random,
        clock: Callable[[], int],
        dated: Callable[[str, str], int],
        *,
        keys: bool,
        unrepeatable: tuple[str, ...],
        witness: Callable[[str, Record], None],
        trimmed: Callable[[str, Sequence[Record]], None],
        leading_gaps: bool = True,
    ) -> None:
        self._clock, self._dated = clock, dated
        self._appending = ""  # the topic
        self._appended_ns: dict[tuple[str, int], int] = {}
        self._loop = loop
        self._rng = rng
        self.memory = self._new()
        super().__init__(self.memory)
        self._keys = keys
        self._unrepeatable = unrepeatable
        self._witness = witness
        self._trimmed, self._leading_gaps = trimmed, leading_gaps
        self._back_s = 0.0
        self._cut_off: dict[str, float] = {}  # hosts, and until when
        self.delays_s: dict[str, float] = {}
        """How long what a host appends is on its way."""
        self._first: dict[str, int] = {}
        self.active = True
        """Whether it misbehaves."""
        self.gaps = self.repeated = self.short = self.refused = self.cut = 0

    @property
    def capabilities(self) -> Capability:
        """See ``Log``."""
        return super().capabilities if self._keys else super().capabilities & ~Capability.KEYS

    def fail_for(self, seconds: float) -> None:
        """Be unavailable for this time; running calls may still take effect."""
        self._back_s = max(self._back_s, self._loop.time() + seconds)

    def cut_off(self, host: str, seconds: float) -> None:
        """Be unavailable to this host for this time; running calls may still take effect."""
        self._cut_off[host] = max(self._cut_off.get(host, 0.0), self._loop.time() + seconds)

    async def exchange(self, topics: Iterable[str], since_ns: int | None) -> None:
        """Replace it by an older copy of itself, with the records up to then, or by an empty log."""
        former, self.memory = self.memory, self._new()
        self._log = self.memory
        for topic in topics:
            await self.memory.ensure(topic)
            if since_ns is None:
                self._first.pop(topic, None)
                continue
            first, end = await former.bounds(topic)
            records = await former.read(topic, first, end)
            kept = [record for record in records if self._appended_ns[topic, record.offset] <= since_ns]
            last = kept[-1].offset if kept else first - 1
            keys = await former.keys(topic, first, last + 1)
            await self.memory.put_back(topic, [Returned(record, keys.get(record.offset)) for record in kept])
            await self.memory.complete(topic, await former.identity(topic), first, last + 1)
        await former.close()

    def appended_ns(self, topic: str, offset: int, default: int) -> int:
        """When the record at this offset was appended; ``default`` if there is none."""
        return self._appended_ns.get((topic, offset), default)

    def _new(self) -> MemoryLog:
        return MemoryLog(self._record_ns, lambda: f"{self._rng.getrandbits(64):016x}")

    def _record_ns(self) -> int:
        return self._dated(self._appending, CALLER.get()) if self._appending else self._clock()

    def first(self, topic: str) -> int:
        """The oldest offset of the topic, for the oracles."""
        return self._first.get(topic, 1)

    async def put(self, topic: str, record: NewRecord) -> int:
        """Append a record, bypassing all faults, from outside the simulation."""
        return (await self._append(topic, [record]))[0]

    async def append(self, topic: str, records: Sequence[NewRecord]) -> list[int]:
        """See ``Log``."""
        if not self._keys:
            records = [replace(record, key="") for record in records]
        await self._reach()
        if delay_s := self.delays_s.get(CALLER.get()):
            await asyncio.sleep(delay_s)
        offsets = await self._append(topic, records)
        if not self._keys and topic not in self._unrepeatable and self._luck(0.1):
            self.repeated += 1
            await self._append(topic, records)
        self._answer()
        await after_deed(LogUnavailable)
        return offsets

    async def read(
        self,
        topic: str,
        start: int,
        max_records: int = READ_RECORDS_MAX,
        max_bytes: int = READ_BYTES_MAX,
    ) -> list[Record]:
        """See ``Log``."""
        found = await super().read(topic, start, max_records, max_bytes)
        if len(found) > 1 and self._luck(0.2):
            self.short += 1
            found = found[: self._rng.randint(1, len(found))]
        return found

    async def trim(self, topic: str, retention: Retention) -> int:
        """See ``Log``."""
        await self._reach()
        first = await self.memory.trim(topic, retention)
        self._first[topic] = first
        _, end = await self.memory.bounds(topic)
        self._trimmed(topic, await self.memory.read(topic, first, end) if first < end else [])
        self._answer()
        await after_deed(LogUnavailable)
        return first

    async def close(self) -> None:
        """See ``Log``; it is shared by all agents, so it stays open."""

    async def _append(self, topic: str, records: Sequence[NewRecord]) -> list[int]:
        before = (await self.memory.bounds(topic)).end
        if self._luck(0.1) and (self._leading_gaps or before > ORIGIN):
            self.gaps += 1
            await self.memory.complete(topic, "", 0, before + self._rng.randint(1, GAP_MAX))
        self._appending = topic
        offsets = await self.memory.append(topic, records)
        self._appending = ""
        self._first[topic] = (await self.memory.bounds(topic)).first  # a gap moves it if nothing is before the gap
        self._appended_ns |= {(topic, offset): self._clock() for offset in offsets if offset >= before}
        new = {offset: record for offset, record in zip(offsets, records, strict=True) if offset >= before}
        for offset, record in new.items():  # each once, if several have one key
            self._witness(topic, record.at(offset, self._dated(topic, CALLER.get())))
        return offsets

    async def _pass(self, call: Callable[P, Awaitable[T]], *args: P.args, **kwargs: P.kwargs) -> T:
        await self._reach()
        result = await call(*args, **kwargs)
        self._answer()
        await after_deed(LogUnavailable)
        return result

    async def _reach(self) -> None:
        await before_deed(LogUnavailable)
        self._answer()

    def _answer(self) -> None:
        """When the log goes away, the operation is done but its answer is lost."""
        if self._loop.time() < self._back_s:
            self.refused += 1
            raise LogUnavailable("the log is being failed over; nothing is wrong")
        if self._loop.time() < self._cut_off.get(CALLER.get(), 0.0):
            self.cut += 1
            raise LogUnavailable("the network is down; nothing is wrong")

    def _luck(self, share: float) -> bool:
        return self._rng.random() < share and self.active
