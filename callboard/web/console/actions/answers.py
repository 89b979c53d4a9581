"""Answers requests for actions: their forms, and what becomes of those that are sent."""

import asyncio
import json
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import BaseRoute, Route

from callboard.door.names import meant
from callboard.door.questions import commanded
from callboard.errors import CallboardError, LogError, NotAnswered, RequestRefused
from callboard.logger import get_logger
from callboard.web.console.actions.action import WAIT_S, Action, Outcome, Values
from callboard.web.console.actions.table import ACTIONS
from callboard.web.console.drawing import draw, query
from callboard.web.console.frame import framed
from callboard.web.console.page import Question
from callboard.web.console.watch import Watch
from callboard.web.signin.forms import Forms
from callboard.web.user import User

if TYPE_CHECKING:
    from callboard.board.board import Callboard

BODY_MAX = 128 << 10
"""Bytes of a form: a reason of 10,000 characters, each of up to 12 bytes when escaped, and little else."""

FIELDS_MAX = 20

SENT_MAX = 1000
"""Forms whose result is remembered, for those who send them again."""

PERFORM_S = 3 * WAIT_S
"""How long an action may take in all: it reads the log, appends, and waits for the result."""

STATUSES = {"unknown_name": 404, "not_found": 404, "unconfirmed": 403, "too_large": 413, "invalid": 400}
"""HTTP statuses of refusals by their code; 409 for others: it cannot be done now."""

WORDS = {True: "accepted", False: "refused", None: "unanswered"}
NOT_ALLOWED = {
    True: "you may look, but not act: ask for the role operator",
    False: "this console is read-only; start it with --allow-actions, or mount it with allow_actions=True",
}
"""Whether actions are allowed at all, and what is wrong."""

LOOK = "it may have been done, so look before you repeat it"


@dataclass(frozen=True, slots=True)
class Asker:
    """Who asks for an action, from a console at ``base``; the answer is a part of a page if ``in_dialog``."""

    user: User
    base: str
    in_dialog: bool


class Answers:
    """The answers to requests for actions on a board."""

    def __init__(self, board: "Callboard", watch: Watch, forms: Forms, *, allowed: bool) -> None:
        self._board, self._watch, self._forms, self._allowed = board, watch, forms, allowed
        self._sent: OrderedDict[str, tuple[str, Outcome | None]] = OrderedDict()
        """By token, the user with what they did, and its outcome; None until that is known."""

    def routes(self) -> list[BaseRoute]:
        """The routes of all actions."""
        return [
            Route("/actions/{name}", self.form, methods=["GET"], name="form"),
            Route("/actions/{name}", self.sent, methods=["POST"], name="action"),
        ]

    async def form(self, request: Request) -> Response:
        """The form of an action on a target."""
        by = _asker(request)
        try:
            action = self._action(request, by.user)
            values = action.values(request.query_params, asked=False)
            return await self._form(by, action, values, {})
        except CallboardError as error:
            return _failed(by, error)

    async def sent(self, request: Request) -> Response:
        """Do what the form asks for."""
        by, again = _asker(request), ""
        try:
            action = self._action(request, by.user)
            given = await _posted(request)
            token, reason = given.pop("token", ""), given.pop("reason", "").strip()
            fixed = {each.name for each in action.parameters if not each.asks}
            target = action.values({name: text for name, text in given.items() if name in fixed}, asked=False)
            again = f"{by.base}/actions/{action.name}{query(dict(target))}"
            try:
                if not reason:
                    raise RequestRefused("an action needs a reason; give one", code="invalid")
                commanded({"reason": reason, "author": by.user.name})
                values = action.values(given, asked=True)
            except RequestRefused as error:
                return await self._form(by, action, target, given | {"reason": reason}, error)
            outcome, status = await self._once(by.user, action, target, values, token, reason)
        except CallboardError as error:
            return _failed(by, error, again)
        return _result(by, action.title(target), outcome, status, "" if outcome.accepted else again)

    def _action(self, request: Request, user: User) -> Action:
        """The action that is asked for. Raises ``RequestRefused`` if there is none, or the user may not."""
        if not self._allowed or user.role != "operator" or not user.name:
            raise RequestRefused(NOT_ALLOWED[self._allowed], code="unconfirmed")
        name = request.path_params["name"]
        if name not in ACTIONS:
            then = meant(name, ACTIONS, f"there are {', '.join(ACTIONS)}")
            raise RequestRefused(f"there is no such action; {then}", code="not_found")
        return ACTIONS[name]

    async def _form(
        self, by: Asker, action: Action, values: Values, given: Mapping[str, str], problem: RequestRefused | None = None
    ) -> Response:
        asked = Question(self._board, await self._watch.now(), by.user, base=by.base, acts=True)
        foreseen, values = await action.foresee(asked, values)
        target = action.target(values)
        shown: dict[str, Any] = {
            "action": action, "target": target, "given": given, "problem": str(problem or ""), "base": by.base,
            "foreseen": foreseen, "token": self._forms.token(by.user, _what(action, target)),
        }  # fmt: skip
        return _answer(
            by, action.title(target), draw("actions/form.html", **shown), _status(problem) if problem else 200
        )

    async def _once(
        self, user: User, action: Action, target: Values, values: Values, token: str, reason: str
    ) -> tuple[Outcome, int]:
        """Perform the action, unless this form was sent before. Raises ``RequestRefused`` for a wrong token."""
        what = _what(action, target)
        by_whom = json.dumps([user.name, user.session, what])
        if token in self._sent and self._sent[token][0] == by_whom:
            before = self._sent[token][1]
            its = f"its result is: {before.text}" if before else "its result is not known yet"
            return Outcome(accepted=False, text=f"this form was already sent; {its}"), 409
        self._forms.spend(token, user, what)
        self._sent[token] = by_whom, None
        while len(self._sent) > SENT_MAX:
            self._sent.popitem(last=False)
        outcome, status = await _performed(self._board, action, values, user, reason)
        self._sent[token] = by_whom, outcome
        get_logger().info(
            "action.performed", user=user.name, action=action.name, target=" ".join(map(str, target.values())),
            result=WORDS[outcome.accepted], detail=outcome.text,
        )  # fmt: skip
        return outcome, status


async def _performed(
    board: "Callboard", action: Action, values: Values, user: User, reason: str
) -> tuple[Outcome, int]:
    try:
        async with asyncio.timeout(PERFORM_S):
            outcome = await action.perform(board, values, user.name, reason)
    except RequestRefused as error:
        return Outcome(accepted=False, text=str(error)), _status(error)
    except (TimeoutError, NotAnswered):
        return Outcome(None, f"there was no answer in time, perhaps as the log cannot be written; {LOOK}"), 503
    except LogError as error:
        return Outcome(None, f"{error}; {LOOK}"), 503
    except CallboardError as error:
        return Outcome(accepted=False, text=str(error)), 500
    return outcome, {True: 200, False: 409, None: 202}[outcome.accepted]


async def _posted(request: Request) -> dict[str, str]:
    """The fields of a form. Raises ``RequestRefused`` for what is none, or too large."""
    if request.headers.get("content-type", "").partition(";")[0] != "application/x-www-form-urlencoded":
        raise RequestRefused("send the form as application/x-www-form-urlencoded", code="invalid")
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > BODY_MAX:
            raise RequestRefused(f"the form has more than {BODY_MAX} bytes; shorten the reason", code="too_large")
    try:
        text = body.decode("ascii")
        fields = parse_qsl(
            text, keep_blank_values=True, strict_parsing=True, max_num_fields=FIELDS_MAX, errors="strict"
        )
    except ValueError as error:
        raise RequestRefused("this is not what a form sends; open it again", code="invalid") from error
    if len(found := dict(fields)) < len(fields):
        raise RequestRefused("a field was sent twice; open the form again", code="invalid")
    return found


def _asker(request: Request) -> Asker:
    user: User = getattr(request.state, "user", User("", "viewer"))
    return Asker(user, request.scope.get("root_path", ""), "hx-request" in request.headers)


def _what(action: Action, target: Values) -> str:
    """What a token is for."""
    return json.dumps([action.name, sorted(target.items())])


def _status(error: CallboardError) -> int:
    if isinstance(error, LogError | NotAnswered):
        return 503
    return STATUSES.get(error.code, 409) if isinstance(error, RequestRefused) else 500


def _failed(by: Asker, error: CallboardError, again: str = "") -> Response:
    return _result(by, "This cannot be done", Outcome(accepted=False, text=str(error)), _status(error), again)


def _result(by: Asker, title: str, outcome: Outcome, status: int, again: str) -> Response:
    shown = {"title": title, "accepted": outcome.accepted, "text": outcome.text, "again": again, "base": by.base}
    return _answer(by, title, draw("actions/result.html", **shown), status)


def _answer(by: Asker, title: str, content: str, status: int) -> Response:
    """The content for the dialog, or as a page of its own."""
    whole = content if by.in_dialog else framed(title, content, by.user, by.base)
    return HTMLResponse(whole, status, {"Cache-Control": "no-store", "Vary": "HX-Request"})
