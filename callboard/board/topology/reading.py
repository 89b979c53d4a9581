"""Reads the control topic: folds it, and notes what the state of the cluster does not have."""

import asyncio
from bisect import bisect
from collections import Counter, deque
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import NamedTuple

from callboard.actors.topology.cluster_fold import ClusterFold
from callboard.actors.topology.reducer import NS_PER_MS
from callboard.actors.topology.verdict import Reason, Verdict
from callboard.backends.log import Log
from callboard.backends.logs.walk import WINDOW_OFFSETS, backwards, between
from callboard.board.topology.wording import about
from callboard.errors import OffsetOutOfRange
from callboard.messages.headers import TIME_NS, TIME_NS_MAX
from callboard.messages.reading import Unread
from callboard.messages.record import Record
from callboard.messages.topology.cluster_state import EMPTY, AckPolicy, ClusterMember, ClusterState
from callboard.messages.topology.control_messages import (
    JoinMessage,
    LeaveMessage,
    ProposeMessage,
    RenewMessage,
    SnapshotMessage,
    SuspectMessage,
)
from callboard.messages.topology.member_event import MemberEvent
from callboard.messages.topology.reading import read

REFUSALS_MAX = 1000
"""Refused records that are remembered: the newest, since anyone may write to the log."""

RECENT_RECORDS = 20_000
"""Records whose times are remembered, to tell how far behind members are: minutes of the largest cluster."""

SNAPSHOT = SnapshotMessage.__name__.encode()

TYPE_CHARS = 100
"""Characters kept of an unknown type."""

REPEATS = frozenset({Reason.UNCHANGED, Reason.REPLAYED, Reason.DUPLICATE})
"""Refusals that tell nothing: retries have them."""


@dataclass(frozen=True, slots=True)
class Heard:
    """The last record of a member."""

    offset: int
    time_ns: int
    type: str


@dataclass(frozen=True, slots=True)
class Refusal:
    """A record that was refused: when, why, and what it asked for."""

    offset: int
    time_ns: int
    reason: Reason
    instance: str
    what: str
    detail: str


class Step(NamedTuple):
    """A record with its verdict, and the states before and after it."""

    record: Record
    event: MemberEvent | Unread
    verdict: Verdict
    before: ClusterState
    after: ClusterState

    @property
    def departed(self) -> tuple[ClusterMember, ...]:
        """The members that the record removed."""
        stay = {member.life for member in self.after.members}
        return tuple([member for member in self.before.members if member.life not in stay])

    @property
    def refusal(self) -> Refusal | None:
        """Why the record was refused; None if it was not."""
        return refusal_of(self.record, self.event, self.verdict)


def refusal_of(record: Record, event: MemberEvent | Unread, verdict: Verdict) -> Refusal | None:
    """The refusal of the record; None if it was accepted, or is a retry."""
    if verdict.accepted or verdict.reason in REPEATS:
        return None
    who, what = "", record.header("type")[:TYPE_CHARS]
    if not isinstance(event, Unread):
        who, what = event.instance, about(event)
    return Refusal(record.offset, record.time_ns, verdict.reason, who, what, verdict.detail)


class Reading:
    """A fold over the control topic of one log, from a state on, with notes of bounded size.

    ``heard`` has the last record of each member, as far as it was read, ``departed`` that of those whom the last view
    removed. ``refusals`` are the newest, ``joins`` the newest times of joins, in nanoseconds since the epoch.
    ``barrier_s`` is how long the last settled view took, -1 if unknown. ``behind_s`` is how far a member's clock was
    behind the latest time that any had written, at its last record. ``evictions``, ``rejoins`` (of instances that were
    members before), ``refused`` and ``false_suspicions`` (of members that spoke after they were evicted as silent or
    mute, and suspicions withdrawn) count since ``start``.
    """

    def __init__(self, log: Log, topic: str, log_id: str, first: int, state: ClusterState) -> None:
        self.log, self.topic, self.log_id = log, topic, log_id
        self._lock = asyncio.Lock()
        self._begin(first, state)

    def _begin(self, first: int, state: ClusterState) -> None:
        self._fold, self._known = ClusterFold(state), state
        self.first, self.start = first, max(first, state.offset + 1)
        self.next = self.start
        self.last_ns = -1
        self.heard, self.departed = dict[str, Heard](), dict[str, Heard]()
        self.refusals = deque[Refusal](maxlen=REFUSALS_MAX)
        self.joins = deque[tuple[int, str]](maxlen=REFUSALS_MAX)
        self.evictions = self.rejoins = self.false_suspicions = 0
        self.refused = Counter[Reason]()
        self.barrier_s, self.view_ns = -1.0, -1
        self.behind_s, self._latest_ns = dict[str, float](), 0
        self._renewed = dict[str, int]()
        self._evicted = deque[tuple[str, str]](maxlen=REFUSALS_MAX)
        self._times = deque[tuple[int, int]](maxlen=RECENT_RECORDS)

    @property
    def state(self) -> ClusterState:
        """The state after the last record."""
        return self._fold.state

    @property
    def unknown(self) -> bool:
        """Whether records are lost that the state depends on."""
        return self.first > 1 and self.start == self.first and self.state.settings is None

    async def catch_up(self) -> None:
        """Read on to the end of the topic; from a later snapshot if records were trimmed before they were read."""
        async with self._lock:
            while True:
                try:
                    async for _ in self.steps():
                        pass
                    return
                except OffsetOutOfRange:
                    self._begin(*await newest_start(self.log, self.topic))

    async def steps(self, end: int | None = None) -> AsyncIterator[Step]:
        """Read on to the end of the topic, or to ``end``; yields all steps but renewals, which change no view.

        Raises ``OffsetOutOfRange`` if records were trimmed before they were read, so that the state is unknown.
        """
        lost = list[tuple[int, int]]()
        end = (await self.log.bounds(self.topic)).end if end is None else end
        async for record in between(self.log, self.topic, self.next, end, lost):
            if lost:
                break
            if (step := self._see(record)) is not None:
                yield step
        if lost:
            raise OffsetOutOfRange(self.topic, *lost[0], end)

    def lags_s(self) -> dict[str, float]:
        """By member, the age of the oldest record that it had not read when it last renewed, as far as known."""
        times, lags = list(self._times), dict[str, float]()
        for member in self.state.members:
            renewed_ns = self._renewed.get(member.instance)
            if renewed_ns is not None and member.read_to >= 0:
                unread = bisect(times, (member.read_to, TIME_NS_MAX))
                lag_ns = renewed_ns - times[unread][1] if unread < len(times) else 0
                lags[member.instance] = max(0, lag_ns) / 1e9
        return lags

    def _see(self, record: Record) -> Step | None:
        event = read(record)
        view, settings = self._known.view, self._known.settings
        self.next, self.last_ns = record.offset + 1, record.time_ns
        self._times.append((record.offset, record.time_ns))
        proceeds = settings is not None and settings.ack_policy is AckPolicy.PROCEED and view.settled != view.epoch
        renews = isinstance(event, RenewMessage) and not proceeds
        before = self._known if renews else self._fold.state
        verdict = self._fold.step(record.offset, record.time_ns // NS_PER_MS, event)
        if (refusal := refusal_of(record, event, verdict)) is not None:
            self.refused[verdict.reason] += 1
            self.refusals.append(refusal)
        step = None
        if not renews:
            self._known = self._fold.state
            step = Step(record, event, verdict, before, self._known)
            self._note_view(step)
        if not isinstance(event, Unread) and ((renews and verdict.accepted) or self._is_member(event)):
            self.heard[event.instance] = Heard(record.offset, record.time_ns, type(event).__name__)
            if isinstance(event, RenewMessage):
                self._renewed[event.instance] = record.time_ns
            self._note_clock(event.instance, record.header("time_ns"))
        elif not isinstance(event, Unread) and (life := (event.instance, event.incarnation)) in self._evicted:
            self._evicted.remove(life)
            self.false_suspicions += 1
        return step

    def _note_clock(self, instance: str, said: str) -> None:
        if TIME_NS.fullmatch(said):
            self._latest_ns = max(self._latest_ns, int(said))
            self.behind_s[instance] = (self._latest_ns - int(said)) / 1e9

    def _is_member(self, event: MemberEvent) -> bool:
        member = self._known.member(event.instance)
        return member is not None and member.incarnation == event.incarnation

    def _note_view(self, step: Step) -> None:
        if isinstance(step.event, SuspectMessage) and step.event.withdrawn and step.verdict.accepted:
            self.false_suspicions += 1
        record, before, after = step.record, step.before.view, step.after.view
        if before.epoch != after.epoch:
            self.view_ns = record.time_ns
            self.behind_s, self._latest_ns = {}, 0
            stay, known = {member.instance for member in step.after.members}, self.heard
            self.heard = {name: heard for name, heard in known.items() if name in stay}
            self._renewed = {name: time_ns for name, time_ns in self._renewed.items() if name in stay}
            self.departed = {each.instance: known[each.instance] for each in step.departed if each.instance in known}
            if isinstance(step.event, JoinMessage):
                joined = step.event.instance
                self.joins.append((record.time_ns, joined))
                former = {each.instance for each in step.departed} | {each.instance for each in step.before.gone}
                self.rejoins += joined in former
            elif not isinstance(step.event, LeaveMessage):
                self.evictions += len(step.departed)
                if isinstance(step.event, ProposeMessage):
                    self._evicted.extend(each.life for each in step.departed)
        elif before.settled != after.settled:
            self.barrier_s = max(0, record.time_ns - self.view_ns) / 1e9 if self.view_ns >= 0 else -1.0


async def newest_start(log: Log, topic: str, recent: int = 0) -> tuple[int, ClusterState]:
    """The first retained offset, and the state in the newest snapshot that a fold can start from, or else no state. The
    snapshot has ``recent`` offsets after it.
    """
    first, end = await log.bounds(topic)
    return await _start(backwards(log, topic, first, end - recent, WINDOW_OFFSETS), first)


async def oldest_start(log: Log, topic: str) -> tuple[int, ClusterState]:
    """The first retained offset, and the state after it, or in the oldest snapshot that a fold can start from."""
    first, end = await log.bounds(topic)
    return (first, EMPTY) if first <= 1 else await _start(between(log, topic, first, end), first)


async def _start(records: AsyncIterator[Record], first: int) -> tuple[int, ClusterState]:
    async for record in records:
        said = read(record) if SNAPSHOT in record.header_block else None  # unpacking it would cost more
        if isinstance(said, SnapshotMessage) and _fits(said, first, record.offset):
            return first, said.state
    return first, EMPTY


def _fits(said: SnapshotMessage, first: int, offset: int) -> bool:
    """Whether a fold can start from the snapshot at the offset: its sender is a member in it, and all records since
    then are retained.
    """
    sender = said.state.member(said.instance)
    is_member = sender is not None and sender.incarnation == said.incarnation
    return is_member and first <= said.state.offset + 1 <= offset
