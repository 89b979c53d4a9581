"""Commands to the cluster about its members."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from callboard.board.topology.telling import member_words, told
from callboard.door.names import unknown
from callboard.web.console.actions.action import WAIT_S, Action, Outcome, Parameter, Values
from callboard.web.console.page import Question

if TYPE_CHECKING:
    from callboard.board.board import Callboard

MEMBER = Parameter("instance", "The member")


async def _state(asked: Question, values: Values) -> tuple[str, Values]:
    members = {each.instance: each for each in (asked.reading.cluster.members if asked.reading.cluster else ())}
    if (its := members.get(values["instance"])) is None:
        raise unknown("member", values["instance"], members)
    return f"{its.instance}: {', '.join(member_words(its)) or 'as it should be'}.", values


def _drain(*, undo: bool) -> Callable[["Callboard", Values, str, str], Awaitable[Outcome]]:
    async def perform(board: "Callboard", values: Values, author: str, reason: str) -> Outcome:
        result = await board.topology.drain(
            values["instance"], undo=undo, author=author, reason=reason, timeout_s=WAIT_S
        )
        return Outcome(result.accepted, told(result))

    return perform


ACTIONS = (
    Action(
        "drain", "Drain", "Excludes the member from leadership until it restarts; it stays a member.",
        (MEMBER,), _state, _drain(undo=False),
    ),
    Action("undo-drain", "Undo drain", "The member may lead again.", (MEMBER,), _state, _drain(undo=True)),
)  # fmt: skip
