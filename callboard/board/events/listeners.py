"""The named listeners, and how far behind they are."""

from collections.abc import Iterator
from dataclasses import dataclass
from shlex import quote

from callboard.backends.examination import Finding, advice, ok, problem
from callboard.board.context import BoardContext
from callboard.board.events.marks import Marks, beginning
from callboard.errors import TopicMissing
from callboard.messages.events.event_messages import ListenerMark
from callboard.messages.topics import broadcast_topic, listener_topic

LATE_S = 600.0
"""How long an event may wait before ``doctor`` reports its listener: it is down, too slow, or fails."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListenerState:
    """How far a named listener is, by what it has stored.

    Attributes:
        name: of the listener.
        topics: patterns of what it listens to.
        behind: how many offsets it is behind the newest event, of any topic.
        oldest_s: the age in seconds of the oldest event that it may not have handled; 0 if there is none.
        seen_s: seconds since it stored this.
        attempts: that have failed at the next event.
        reason: of the last failure.
        given_up: how many events it gave up.
        lost: how many offsets were trimmed before it had handled what was there.
        problem: why it cannot go on where it was; empty if it can.
    """

    name: str
    topics: tuple[str, ...]
    behind: int
    oldest_s: float
    seen_s: float
    attempts: int
    reason: str
    given_up: int
    lost: int
    problem: str


async def listener_states(board: BoardContext) -> tuple[ListenerState, ...]:
    """All named listeners, by name."""
    marks = _marks(board)
    try:
        await marks.read()
        return tuple([await _state(board, mark) for mark in sorted(marks.kept(), key=lambda mark: mark.name)])
    except TopicMissing:
        return ()


async def _state(board: BoardContext, mark: ListenerMark) -> ListenerState:
    topic = broadcast_topic(board.settings.prefix)
    bounds, now_ms = await board.log.bounds(topic), board.now_ns() // 1_000_000
    start, trouble = beginning(mark, await board.log.identity(topic), bounds)
    waiting = await board.log.read(topic, start, 1)
    return ListenerState(
        name=mark.name, topics=mark.topics, behind=bounds.end - start,
        oldest_s=max(0, now_ms - waiting[0].time_ns // 1_000_000) / 1000 if waiting else 0.0,
        seen_s=max(0, now_ms - mark.time_ms) / 1000, attempts=mark.attempts, reason=mark.reason,
        given_up=mark.given_up, lost=mark.lost, problem=trouble,
    )  # fmt: skip


async def event_topics(board: BoardContext) -> list[str]:
    """The topic of distributed events, if there is one, which is trimmed as others are."""
    topic = broadcast_topic(board.settings.prefix)
    try:
        await board.log.bounds(topic)
    except TopicMissing:
        return []
    return [topic]


async def forget_listener(board: BoardContext, name: str) -> bool:
    """Forget how far the listener is; returns whether there was one."""
    marks = _marks(board)
    try:
        await marks.read()
    except TopicMissing:
        return False
    if found := name in {mark.name for mark in marks.kept()}:
        await marks.store(ListenerMark(name=name, removed=True))
    return found


async def examine_listeners(board: BoardContext) -> list[Finding]:
    """Examine the named listeners; nothing if there are none."""
    states = await listener_states(board)
    late = [finding for its in states for finding in _findings(its)]
    return [*late, ok(f"listeners to events: {len(states)}")] if states else []


def _findings(its: ListenerState) -> Iterator[Finding]:
    forget = f"or forget it: `callboard events forget {quote(its.name)}`"
    if its.problem:
        yield problem(f"listener {its.name}: {its.problem}", f"check what it missed, {forget}")
    if its.attempts:
        yield problem(f"listener {its.name} has failed {its.attempts} times at an event: {its.reason}", "see its log")
    elif its.oldest_s > LATE_S:
        what = f"listener {its.name} has not handled an event that is {its.oldest_s / 60:.0f} min old"
        yield problem(what, f"start it, see what makes it slow, {forget}")
    if its.given_up or its.lost:
        what = f"listener {its.name} gave up {its.given_up} events, and lost up to {its.lost} that were trimmed"
        yield advice(f"{what}; the last failure: {its.reason}" if its.reason else what, "see its log")


def _marks(board: BoardContext) -> Marks:
    return Marks(board.log, listener_topic(board.settings.prefix), board.now_ns, board.new_id)
