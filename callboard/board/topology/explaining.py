"""Explains a view: the record that made it, the evidence, and how it was settled."""

from bisect import bisect
from collections import deque
from dataclasses import dataclass, replace
from typing import Literal

from callboard.board.topology.changes import ClusterChange, change_of, judged
from callboard.board.topology.history import missing
from callboard.board.topology.reading import Heard, Reading, Refusal, Step
from callboard.board.topology.wording import evidence
from callboard.errors import RequestRefused
from callboard.messages.topology.cluster_state import ClusterMember
from callboard.messages.topology.control_messages import (
    AckMessage,
    AdminMessage,
    Evidence,
    JoinMessage,
    LeaveMessage,
    ProposeMessage,
)

REFUSALS_SHOWN = 20
"""Refusals shown of a view, the newest: enough to see a pattern."""

Outcome = Literal["settled", "degraded", "waiting", "superseded"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Departure:
    """A member that the view no longer has, and why.

    ``silent_s`` is how long it had been silent by the lease clock. ``last`` is its last record before, None if that is
    no longer on the log.
    """

    instance: str
    incarnation: str
    why: str
    silent_s: float
    last: Heard | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Acknowledgement:
    """A member's acknowledgement, ``after_s`` seconds after the view was made."""

    instance: str
    offset: int
    after_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewExplanation:
    """Why a view was made, by a record of the type ``record``, and how it was settled.

    The ``outcome`` is settled, degraded (settled without the acknowledgements of ``waiting_for``), waiting (for these),
    or superseded, by the view ``next_epoch`` before these acknowledged it. ``barrier_s`` is how long that took, -1
    while it waits. ``refusals`` are the newest refused records between the view before, ``previous_epoch``, and the
    outcome.
    """

    change: ClusterChange
    record: str
    previous_epoch: int
    departures: tuple[Departure, ...]
    refusals: tuple[Refusal, ...]
    acknowledgements: tuple[Acknowledgement, ...] = ()
    outcome: Outcome = "waiting"
    barrier_s: float = -1.0
    waiting_for: tuple[str, ...] = ()
    next_epoch: int = -1


def _continued(made: ViewExplanation, step: Step) -> ViewExplanation:
    """The explanation with a later step added."""
    epoch, view, event = made.change.epoch, step.after.view, step.event
    after_s = max(0, step.record.time_ns - made.change.time_ns) / 1e9
    superseded = view.epoch != epoch
    outcome: Outcome = "superseded" if superseded else "waiting"
    if view.settled == epoch:
        outcome = "degraded" if view.degraded else "settled"
    acknowledged = made.acknowledgements
    if isinstance(event, AckMessage) and step.verdict.accepted:
        acknowledged += (Acknowledgement(instance=event.instance, offset=step.record.offset, after_s=after_s),)
    return replace(
        made,
        refusals=(*made.refusals, *filter(None, [step.refusal]))[-REFUSALS_SHOWN:],
        acknowledgements=acknowledged,
        outcome=outcome,
        barrier_s=-1.0 if outcome == "waiting" else after_s,
        waiting_for=tuple([
            each.instance for each in (step.before if superseded else step.after).members if each.acked != epoch
        ]),
        next_epoch=view.epoch if superseded else -1,
    )  # fmt: skip


async def explained(reading: Reading, epoch: int) -> ViewExplanation:
    """The explanation of a view. Raises ``RequestRefused`` if the offset is not that of a view."""
    views, refusals = list[int](), deque[Refusal](maxlen=REFUSALS_SHOWN)
    made: ViewExplanation | None = None
    refused = ""
    async for step in reading.steps():
        if made is not None:
            made = _continued(made, step)
            if made.outcome != "waiting":
                return made
            continue
        refusal, view = step.refusal, step.after.view.epoch
        if refusal is not None:
            refusals.append(refusal)
            refused = f": it was refused, because {refusal.detail}" if refusal.offset == epoch else refused
        if view == step.before.view.epoch:
            continue
        if view == epoch:
            made = _begun(reading, step, tuple(refusals))
            continue
        views.append(view)
        refusals.clear()
        if view > epoch:
            break
    if made is None:
        raise await _no_view(reading, epoch, views, refused)
    return made


def _begun(reading: Reading, step: Step, refusals: tuple[Refusal, ...]) -> ViewExplanation:
    change = change_of(step)
    assert change is not None, "every view is a change"
    return ViewExplanation(
        change=change,
        record=type(step.event).__name__,
        previous_epoch=step.before.view.epoch,
        departures=tuple([_departure(reading, step, member) for member in step.departed]),
        refusals=refusals,
        waiting_for=change.members,
    )


def _departure(reading: Reading, step: Step, member: ClusterMember) -> Departure:
    event, state = step.event, judged(step)
    why = f"{member.instance} {evidence(state, member, Evidence.SILENT)}"
    if isinstance(event, ProposeMessage):
        why = f"{member.instance} {evidence(state, member, event.evidence)}"
    elif isinstance(event, LeaveMessage):
        why = f"{member.instance} left by itself"
    elif isinstance(event, JoinMessage):
        why = f"{member.instance} joined again, as incarnation {event.incarnation}"
    elif isinstance(event, AdminMessage):
        why = f"evicted by command; {why}"
    return Departure(
        instance=member.instance,
        incarnation=member.incarnation,
        why=why,
        silent_s=(state.clock.now_ms - member.heard_ms) / 1e3,
        last=reading.departed.get(member.instance),
    )


async def _no_view(reading: Reading, epoch: int, views: list[int], refused: str) -> RequestRefused:
    """Why there is no view with this epoch to explain, and which ones there are."""
    end, place = reading.next, bisect(views, epoch)
    around = [str(view) for view in views[max(0, place - 1) : place + 1]]
    then = f"the nearest view{'s are' if len(around) > 1 else ' is'} {' and '.join(around)}"
    then = then if around else "no view is on the log"
    see = "see `callboard topology history`"
    if epoch < reading.start and (gone := missing(reading)):
        return RequestRefused(f"view {epoch} cannot be explained: {gone}; {then}; {see}", code="gone")
    if epoch >= (end := max(end, (await reading.log.bounds(reading.topic)).end)):
        why = f"no record is at offset {epoch} yet, the topic ends at {end}"
        return RequestRefused(f"{why}; {then}; {see}", code="out_of_range")
    return RequestRefused(f"the record at offset {epoch} made no view{refused}; {then}; {see}", code="not_found")
