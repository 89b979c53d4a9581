"""The answer to a request that is refused: JSON for programs, a page for people."""

import re
from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from callboard.web.api.answers import refused
from callboard.web.console.drawing import draw

SIGN_IN = "/sign-in"
SIGN_OUT = "/sign-out"
_WITHIN = re.compile(r"/(?!/)[!-\[\]-~]{0,2000}")
"""A path of this site: a browser takes a second slash, or a backslash, for the beginning of another site's name, and
leaves out white space.
"""


class Refusal(NamedTuple):
    """Why a request is not answered. If ``may_sign_in``, that would help."""

    status: int
    code: str
    message: str
    headers: Mapping[str, str] = {}
    may_sign_in: bool = False

    def answer(self, request: Request) -> Response:
        """The same as an answer."""
        if is_programs(request):
            reload = {"HX-Refresh": "true"} if self.may_sign_in else {}  # which leads to the page to sign in
            return refused(self.status, self.code, self.message, {**self.headers, **reload})
        if self.may_sign_in and request.method in {"GET", "HEAD"}:
            asked = path_of(request) + (f"?{request.url.query}" if request.url.query else "")
            return RedirectResponse(f"{base_of(request)}{SIGN_IN}?{urlencode({'next': asked})}", 303)
        return outside(request, "This cannot be shown", self.message, self.status, self.headers)


def outside(
    request: Request, title: str, problem: str = "", status: int = 200, headers: Mapping[str, str] | None = None,
    **shown: object,
) -> Response:  # fmt: skip
    """A page for those who are not signed in."""
    page = draw("outside.html", base=base_of(request), title=title, problem=problem, **({"form": ""} | shown))
    return HTMLResponse(page, status, headers)


def base_of(request: Request) -> str:
    """The path at which the console is mounted."""
    return str(request.scope.get("root_path", ""))


def path_of(request: Request) -> str:
    """The path below that."""
    return str(request.scope["path"]).removeprefix(base_of(request)) or "/"


def is_programs(request: Request) -> bool:
    """Whether the answer is read by a program: one of the API, or the script of a page."""
    return (f"{path_of(request)}/").startswith(("/api/", "/live/")) or "hx-request" in request.headers


def within(path: str) -> str:
    """The path if it stays on this site, else the first page."""
    return path if _WITHIN.fullmatch(path) else "/"
