"""Commands to subscribers."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from callboard.board.command.wording import told
from callboard.board.views import CommandResult, SubscriberStatus, shown_state
from callboard.door.names import unknown
from callboard.errors import LogUnavailable, RequestRefused
from callboard.units import count
from callboard.web.console.actions.action import WAIT_S, Action, Outcome, Parameter, Values
from callboard.web.console.watch import Snapshot

if TYPE_CHECKING:
    from callboard.board.board import Callboard

SUBSCRIBER = Parameter("subscriber", "The subscriber")
OFFSET = Parameter("offset", "The offset", is_whole=True)
ANY_OFFSET = replace(OFFSET, is_needed=False)
FIRST = Parameter("first", "Only this many from the head", is_whole=True, asks=True, is_needed=False)
PER_MINUTE = Parameter("packages_per_min", "Packages a minute; 0 lifts the limit", is_whole=True, asks=True)

Send = Callable[..., Awaitable[CommandResult]]


def subscriber_of(now: Snapshot, name: str) -> SubscriberStatus:
    """The subscriber as it was last read. Raises ``RequestRefused`` if there is none of this name."""
    if not now.time_ns:
        raise LogUnavailable(f"the board has not been read yet: {now.problem or 'try again in a moment'}")
    rows = {row.name: row for row in now.status.subscribers}
    if name not in rows:
        raise unknown("subscriber", name, rows)
    return rows[name]


async def _state(_: "Callboard", now: Snapshot, values: Values) -> str:
    row = subscriber_of(now, values["subscriber"])
    reason = f" ({row.reason})" if row.reason else ""
    queued = f"{count(row.lag_packages, 'package')} queued" if row.lag_packages >= 0 else "a queue of unknown length"
    at = f"; this is about offset {values['offset']}" if "offset" in values else ""
    return f"{row.name} is {shown_state(row)}{reason}, with {queued}{at}."


async def _queued(board: "Callboard", now: Snapshot, values: Values) -> str:
    row = subscriber_of(now, values["subscriber"])
    if not row.editable:
        why = f"subscriber {row.name} is not editable, so its queue cannot be cleared; start it with editable = true"
        raise RequestRefused(why, code="not_editable")
    view = await board.queue(row.name, limit=0)
    queued = f"{count(view.size, 'package')}{'' if view.complete else ' or more'}"
    return f"{row.name} has {queued} queued now. It will skip them, and quarantined packages up to there."


def _command(send: Callable[["Callboard"], Send]) -> Callable[["Callboard", Values, str, str], Awaitable[Outcome]]:
    """Carry out the command by this method of the board."""

    async def perform(board: "Callboard", values: Values, author: str, reason: str) -> Outcome:
        given: dict[str, Any] = dict(values)
        name = given.pop("subscriber")
        result = await send(board)(name, **given, author=author, reason=reason, timeout_s=WAIT_S)
        return Outcome(result.accepted, told(result))

    return perform


ACTIONS = (
    Action(
        "retry", "Retry", "Has the subscriber try again now what it waits for, quarantined, or gave up.",
        (SUBSCRIBER, ANY_OFFSET), _state, _command(lambda board: board.retry),
    ),
    Action(
        "skip", "Skip", "Has the subscriber skip one package for good, or dismiss one that it gave up.",
        (SUBSCRIBER, OFFSET), _state, _command(lambda board: board.skip), dangerous=True,
    ),
    Action(
        "clear", "Clear", "Has the subscriber remove packages from its queue without importing them.",
        (SUBSCRIBER, FIRST), _queued, _command(lambda board: board.clear), dangerous=True,
    ),
    Action(
        "pause", "Pause", "The subscriber imports nothing until it is resumed, also after a restart.",
        (SUBSCRIBER,), _state, _command(lambda board: board.pause),
    ),
    Action(
        "resume", "Resume", "Ends the pause: the subscriber imports again.",
        (SUBSCRIBER,), _state, _command(lambda board: board.resume),
    ),
    Action(
        "throttle", "Limit", "Limits the subscriber to this many packages a minute, also after a restart.",
        (SUBSCRIBER, PER_MINUTE), _state, _command(lambda board: board.throttle),
    ),
)  # fmt: skip
