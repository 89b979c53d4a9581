"""Commands to subscribers."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from callboard.actors.subscriber.gates.pacing import PER_MIN_MAX
from callboard.board.command.clearing import clearable
from callboard.board.command.wording import told
from callboard.board.site_status import SiteSubscriber
from callboard.board.views import CommandResult, SubscriberStatus, shown_state
from callboard.door.limits import OFFSET_MAX
from callboard.errors import RequestRefused
from callboard.messages.headers import SEPARATOR
from callboard.units import count
from callboard.web.console.actions.action import WAIT_S, Action, Outcome, Parameter, Values
from callboard.web.console.page import ANSWER_S, Question
from callboard.web.console.pages.subscriber import subscriber_row

if TYPE_CHECKING:
    from callboard.board.board import Callboard

SUBSCRIBER = Parameter("subscriber", "The subscriber")
OFFSET = Parameter("offset", "The offset", OFFSET_MAX, is_needed=False)
PER_MINUTE = Parameter("packages_per_min", "Packages a minute; 0 lifts the limit", PER_MIN_MAX, asks=True)

Send = Callable[..., Awaitable[CommandResult]]


async def _now(asked: Question, values: Values) -> str:
    row: SubscriberStatus | SiteSubscriber
    if SEPARATOR in (name := values["subscriber"]):
        try:
            row = (await asked.board.site_status(name, timeout_s=ANSWER_S)).rows[0]
        except RequestRefused as error:
            if error.code != "at_site":
                raise
            return f"{error}. The command goes by the relay."
        state = row.state
    else:
        row = subscriber_row(asked, name)
        state = shown_state(row)
    reason = f" ({row.reason})" if row.reason else ""
    queued = f"{count(row.lag_packages, 'package')} queued" if row.lag_packages >= 0 else "a queue of unknown length"
    at = f" This is about the package at offset {values['offset']}." if "offset" in values else ""
    return f"{row.name} is {state}{reason}, with {queued}.{at}"


async def _as_it_is(asked: Question, values: Values) -> tuple[str, Values]:
    return await _now(asked, values), values


async def _at_head(asked: Question, values: Values) -> tuple[str, Values]:
    if "offset" not in values:
        row = subscriber_row(asked, values["subscriber"])
        if row.head_offset < 0:
            raise RequestRefused(f"nothing is at the head of the queue of {row.name}", code="empty")
        values = {"offset": row.head_offset, **values}
    return await _now(asked, values), values


async def _queued(asked: Question, values: Values) -> tuple[str, Values]:
    if SEPARATOR not in (name := values["subscriber"]):
        name = subscriber_row(asked, name).name
    offset, many = await clearable(asked.board.context, name, values.get("offset"), WAIT_S)
    packages = count(many, "package") if many >= 0 else "all packages"
    what = f"{packages} of its queue up to offset {offset}, and quarantined packages up to there"
    return f"{name} will skip {what}. What comes later stays.", {**values, "offset": offset}


def _command(send: Callable[["Callboard"], Send]) -> Callable[["Callboard", Values, str, str], Awaitable[Outcome]]:
    """Carry out the command by this method of the board."""

    async def perform(board: "Callboard", values: Values, author: str, reason: str) -> Outcome:
        name, *others = values.values()
        result = await send(board)(name, *others, author=author, reason=reason, timeout_s=WAIT_S)
        return Outcome(result.accepted, told(result))

    return perform


async def _clear(board: "Callboard", values: Values, author: str, reason: str) -> Outcome:
    options: dict[str, Any] = {"author": author, "reason": reason, "timeout_s": WAIT_S}
    result = await board.clear(values["subscriber"], up_to=values["offset"], **options)
    return Outcome(result.accepted, told(result))


ACTIONS = (
    Action(
        "retry", "Retry", "Has the subscriber try again now what it waits for, quarantined, or gave up.",
        (SUBSCRIBER, OFFSET), _as_it_is, _command(lambda board: board.retry),
    ),
    Action(
        "skip", "Skip", "Has the subscriber skip one package for good, or dismiss one that it gave up.",
        (SUBSCRIBER, OFFSET), _at_head, _command(lambda board: board.skip), dangerous=True,
    ),
    Action(
        "clear", "Clear", "Has the subscriber remove packages from its queue without importing them.",
        (SUBSCRIBER, OFFSET), _queued, _clear, dangerous=True,
    ),
    Action(
        "pause", "Pause", "The subscriber imports nothing until it is resumed, also after a restart.",
        (SUBSCRIBER,), _as_it_is, _command(lambda board: board.pause),
    ),
    Action(
        "resume", "Resume", "Ends the pause: the subscriber imports again.",
        (SUBSCRIBER,), _as_it_is, _command(lambda board: board.resume),
    ),
    Action(
        "throttle", "Limit", "Limits the subscriber to this many packages a minute, also after a restart.",
        (SUBSCRIBER, PER_MINUTE), _as_it_is, _command(lambda board: board.throttle),
    ),
)  # fmt: skip
