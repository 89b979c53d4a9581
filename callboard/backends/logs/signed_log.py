"""A log on which only signed records count."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from callboard.backends.log import READ_BYTES_MAX, READ_RECORDS_MAX, Log
from callboard.backends.logs.passing_log import PassingLog
from callboard.backends.logs.signed_walk import POSITIONS_MAX, SKEW_NS, SignedWalk
from callboard.backends.logs.tail import SharedTail
from callboard.errors import LogError, OffsetOutOfRange
from callboard.logger import get_logger
from callboard.messages.record import NewRecord, Record
from callboard.messages.signing import Place, Signature, SigningKey, is_genuine, signed, unsigned
from callboard.messages.untrusted import untrusted

LOOK_NS = 2 * 10**9
"""How long the known state of a topic is used to sign for it. If the topic is replaced, records signed meanwhile are
lost, as are those appended to the old one."""

WALKS_MAX = 4
"""Readers of one topic at different places whose walks are remembered; others reread some of the log."""

QUIET_NS = 60 * 10**9
"""Between two log lines about one topic: otherwise a hostile writer could fill a disk with them."""

UNSIGNED = "it is not signed, and only signed records count here; set signing_key where it is written"


@dataclass(frozen=True, slots=True)
class Ignored:
    """Records of a topic that do not count, as far as it was read; the newest of them, and the reason for it."""

    count: int = 0
    offset: int = -1
    time_ns: int = 0
    reason: str = ""


@dataclass(slots=True)
class _Topic:
    identity: str = ""
    end: int = 0
    looked_ns: int | None = None
    looking: asyncio.Lock = field(default_factory=asyncio.Lock)
    walks: dict[int, SignedWalk] = field(default_factory=dict)  # by the offset where each continues
    ignored: Ignored = Ignored()
    told_ns: int | None = None


class SignedLog(PassingLog):
    """A log that signs its appends, and on which unsigned records do not count.

    Readers get a record of the type ``Untrusted`` in place of each one that does not count: one without a signature, or
    with one by an untrusted key, for another topic or log, or from another time, and any copy.

    Args:
        log: the log below, owned by this object from now on.
        key: signs what is appended.
        trusted: the keys whose signatures count; without any, all records count, and appends are signed.
        except_for: the topic whose records are not signed.
        clock: nanoseconds since the epoch.
    """

    def __init__(
        self, log: Log, key: SigningKey, trusted: Sequence[SigningKey], except_for: str, clock: Callable[[], int]
    ) -> None:
        super().__init__(log)
        self._key, self._except_for, self._clock = key, except_for, clock
        self._trusted = {key.id: key for key in trusted}
        self._topics: dict[str, _Topic] = {}
        self._signed_ns = 0
        self._line = get_logger()

    @property
    def ignored(self) -> Mapping[str, Ignored]:
        """The records that do not count, by topic."""
        return {topic: held.ignored for topic, held in self._topics.items() if held.ignored.count}

    @property
    def demanding(self) -> bool:
        """Whether only signed records count."""
        return bool(self._trusted)

    async def append(self, topic: str, records: Sequence[NewRecord]) -> list[int]:
        """See ``Log``."""
        if topic == self._except_for or not records:
            return await self._log.append(topic, records)
        held = self._held(topic)
        try:
            await self._look(topic)
            place, end = Place(topic, held.identity), held.end
            offsets = await self._log.append(
                topic, [signed(record, self._key, place, self._now_ns(), end) for record in records]
            )
        except LogError:
            held.looked_ns = None
            raise
        if held.identity == place.identity:
            held.end = max(held.end, offsets[-1] + 1)
        return offsets

    async def read(
        self,
        topic: str,
        start: int,
        max_records: int = READ_RECORDS_MAX,
        max_bytes: int = READ_BYTES_MAX,
    ) -> list[Record]:
        """See ``Log``."""
        records = await self._log.read(topic, start, max_records, max_bytes)
        if topic == self._except_for or not records:
            return records
        if not self._trusted:
            return [unsigned(record)[0] for record in records]
        return await self._judged(topic, start, records)

    async def identity(self, topic: str) -> str:
        """See ``Log``."""
        identity = await self._log.identity(topic)
        self._known_as(topic, identity)
        return identity

    # The place to sign for.

    def _held(self, topic: str) -> _Topic:
        return self._topics.setdefault(topic, _Topic())

    async def _look(self, topic: str) -> None:
        """Learn the topic's current incarnation and end, at most some moments old."""
        held = self._held(topic)
        async with held.looking:
            if held.looked_ns is None or abs(self._clock() - held.looked_ns) > LOOK_NS:
                await self.identity(topic)
                held.end, held.looked_ns = (await self._log.bounds(topic)).end, self._clock()

    def _known_as(self, topic: str, identity: str) -> None:
        held = self._held(topic)
        if held.identity != identity:
            held.identity, held.end, held.looked_ns = identity, 0, None
            held.walks.clear()

    def _now_ns(self) -> int:
        """A distinct time for each record, so that equal records differ in signature; the clock may go backwards."""
        now_ns = self._clock()
        ahead = 0 <= self._signed_ns - now_ns < LOOK_NS
        self._signed_ns = self._signed_ns + 1 if ahead else now_ns
        return self._signed_ns

    # What counts.

    async def _judged(self, topic: str, start: int, records: Sequence[Record]) -> list[Record]:
        held = self._held(topic)
        place = Place(topic, held.identity or await self.identity(topic))
        opened = [self._opened(record, place) for record in records]
        if any(isinstance(mark, str) for _, mark in opened) and (now := await self.identity(topic)) != place.identity:
            place = Place(topic, now)
            opened = [self._opened(record, place) for record in records]
        walk = held.walks.pop(start, None) or SignedWalk(start)
        ends = [mark.end for _, mark in opened if isinstance(mark, Signature)]
        if min(ends, default=start) < walk.since:
            await self._look_back(place, walk, min(ends))
        found = []
        for record, mark in opened:
            reason = mark if isinstance(mark, str) else walk.take(record.offset, mark)
            found.append(self._ignore(topic, record, reason) if reason else record)
        walk.go_on(records[-1].offset + 1)
        held.walks[walk.next] = walk
        if len(held.walks) > WALKS_MAX:
            del held.walks[next(iter(held.walks))]
        return found

    def _opened(self, record: Record, place: Place) -> tuple[Record, Signature | str]:
        """The record without its signature, and a genuine signature or the reason why the record does not count."""
        bare, signature, there = unsigned(record)
        if signature is None:
            return bare, "its signature makes no sense" if there else UNSIGNED
        key = self._trusted.get(signature.key_id)
        if key is None:
            return bare, f"it is signed with key {signature.key_id!r}, which is not among the trusted_keys here"
        if not is_genuine(bare, signature, key, place):
            return bare, (
                "its signature is wrong: it was altered, or is for another topic or log, or was made with another "
                f"secret than that of key {key.id!r} here"
            )
        apart_ns = record.time_ns - signature.signed_ns
        if abs(apart_ns) > SKEW_NS:
            return bare, (
                f"it was appended {abs(apart_ns) // 10**9} s {'after' if apart_ns > 0 else 'before'} it was signed: it "
                "is a copy of an old one, or a clock is wrong; synchronise the clocks"
            )
        if not 0 <= record.offset - signature.end <= POSITIONS_MAX:
            return bare, f"it is a copy of an old one: it was signed when the topic ended at offset {signature.end}"
        return bare, signature

    async def _look_back(self, place: Place, walk: SignedWalk, since: int) -> None:
        """Add the retained records before the walk to it."""
        found, at = list[tuple[int, Signature]](), since
        first = since
        while at < walk.since:
            try:
                records = await self._log.read(place.topic, at, min(READ_RECORDS_MAX, walk.since - at))
            except OffsetOutOfRange as error:
                if error.first <= at:
                    break
                at = first = error.first
                continue
            for record in records:
                _, mark = self._opened(record, place)
                if isinstance(mark, Signature) and record.offset < walk.since:
                    found.append((record.offset, mark))
            at = records[-1].offset + 1 if records else walk.since
        walk.go_back(since, found, complete_from=max(first, since))

    def _ignore(self, topic: str, record: Record, reason: str) -> Record:
        """The replacement for the record; counted once, however often it is read."""
        held, now_ns = self._held(topic), self._clock()
        if record.offset > held.ignored.offset:
            held.ignored = Ignored(held.ignored.count + 1, record.offset, record.time_ns, reason)
            if held.told_ns is None or abs(now_ns - held.told_ns) > QUIET_NS:
                held.told_ns = now_ns
                self._line.warning(
                    "record.ignored", topic=topic, offset=record.offset, reason=reason, count=held.ignored.count
                )
        return untrusted(record, reason)


def demands_signatures(log: Log) -> bool:
    """Whether only signed records count on it."""
    below = log.below if isinstance(log, SharedTail) else log
    return isinstance(below, SignedLog) and below.demanding


def ignored_on(log: Log) -> Mapping[str, Ignored]:
    """The records that do not count, by topic, as far as this process has read the log."""
    below = log.below if isinstance(log, SharedTail) else log
    return below.ignored if isinstance(below, SignedLog) else {}
