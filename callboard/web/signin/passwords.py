"""Users with passwords: a page to sign in, and HTTP Basic for programs that use the API."""

import asyncio
import base64
import binascii
import hmac
import math
import secrets
import time
from collections.abc import Awaitable, Callable
from urllib.parse import parse_qs

from argon2 import PasswordHasher
from argon2.exceptions import VerificationError
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from callboard.escaping import escaped
from callboard.logger import get_logger
from callboard.web.signin.attempts import Attempts
from callboard.web.signin.client import address_of
from callboard.web.signin.refusal import SIGN_IN, SIGN_OUT, Refusal, base_of, outside, path_of, within
from callboard.web.signin.sessions import Sessions
from callboard.web.signin.users_file import Entry, UsersFile
from callboard.web.user import User

AT_ONCE_MAX = 2
"""Passwords verified at the same time, each with 64 MB and, for some 50 ms, 4 threads."""

WAITING_MAX = 20
"""Others that wait for that: a second's work. More are turned away."""

KNOWN_S = 60.0
"""How long a password that was right is not verified again for HTTP Basic, which sends it each time."""

KNOWN_MAX = 1000

NAME_KEPT = 200
"""Characters of a name in memory and in the log; no user's is longer."""

_HASHER = PasswordHasher()

WRONG = Refusal(401, "unauthorized", "the name or the password is wrong")
SIGN_IN_FIRST = Refusal(401, "unauthorized", "you are not signed in, or no longer; sign in", may_sign_in=True)
CHALLENGE = {"WWW-Authenticate": 'Basic realm="callboard", charset="UTF-8"'}


class Passwords:
    """Signs in the users of a file."""

    def __init__(self, file: UsersFile, sessions: Sessions, clock: Callable[[], float] = time.monotonic) -> None:
        self._file, self._sessions, self._clock = file, sessions, clock
        self._attempts = Attempts(clock)
        self._few = asyncio.Semaphore(AT_ONCE_MAX)
        self._waiting = 0
        self._nobodys = _HASHER.hash(secrets.token_hex())
        self._key = secrets.token_bytes(32)
        self._known: dict[bytes, tuple[float, asyncio.Future[Entry | Refusal]]] = {}
        self.routes = (
            Route(SIGN_IN, self._page, methods=["GET"]),
            Route(SIGN_IN, self._sign_in, methods=["POST"]),
            Route(SIGN_OUT, signing_out(self._sessions), methods=["POST"]),
        )

    async def user(self, request: Request) -> User | Refusal:
        """Whose session it is; for the API, else whose name and password are in its header."""
        api = path_of(request).startswith("/api/")
        if api and (given := request.headers.get("authorization")):
            found = await self._basic(given, address_of(request))
            return found._replace(headers={**found.headers, **CHALLENGE}) if isinstance(found, Refusal) else found
        session = self._sessions.of(request)
        entry = self._file.find(session.name) if session else None
        if session and entry and entry.proof == session.proof:
            return session.user()
        return SIGN_IN_FIRST._replace(headers=CHALLENGE) if api else SIGN_IN_FIRST

    async def _page(self, request: Request) -> Response:
        return self._asking(request, within(request.query_params.get("next", "/")))

    async def _sign_in(self, request: Request) -> Response:
        given = parse_qs((await request.body()).decode(errors="replace"))
        name, password, on = (given.get(key, [""])[0] for key in ("name", "password", "next"))
        found = await self._verified(name, password, address_of(request))
        if isinstance(found, Refusal):
            return self._asking(request, within(on), found)
        response = RedirectResponse(f"{base_of(request)}{within(on)}", 303)
        self._sessions.begin(request, response, found.name, found.role, found.proof)
        return response

    def _asking(self, request: Request, on: str, refused: Refusal | None = None) -> Response:
        problem, status, headers = (refused.message, refused.status, refused.headers) if refused else ("", 200, {})
        return outside(request, "Sign in", problem, status, headers, form="password", next=on)

    async def _basic(self, given: str, address: str) -> User | Refusal:
        """The user that the header names. One that was right is remembered, hashed."""
        scheme, _, text = given.partition(" ")
        try:
            name, colon, password = base64.b64decode(text.strip(), validate=True).decode().partition(":")
        except (binascii.Error, UnicodeDecodeError):
            name, colon, password = "", "", ""
        if scheme.lower() != "basic" or not colon:
            return Refusal(401, "unauthorized", "send a name and a password by HTTP Basic")
        entry, now = self._file.find(name), self._clock()
        said = f"{name}\0{entry and entry.proof}\0{password}".encode()
        key = hmac.digest(self._key, said, "sha256")
        until, verified = self._known.get(key, (now, None))
        if verified is None or until <= now:
            verified = asyncio.ensure_future(self._verified(name, password, address))  # once, for all who ask meanwhile
            self._known[key] = now + KNOWN_S, verified
            while len(self._known) > KNOWN_MAX:
                del self._known[next(iter(self._known))]
        found = await asyncio.shield(verified)
        if isinstance(found, Entry):
            return User(found.name, found.role)
        self._known.pop(key, None)
        return found

    async def _verified(self, name: str, password: str, address: str) -> Entry | Refusal:
        """The user, if it is their password. To find that there is no such user takes as long."""
        if self._waiting >= AT_ONCE_MAX + WAITING_MAX:
            return Refusal(503, "busy", "too many sign in at this moment; try again", {"Retry-After": "2"})
        if wait_s := math.ceil(self._attempts.begin(name[:NAME_KEPT], address)):
            message = f"too many attempts have failed; try again in {wait_s} s"
            return Refusal(429, "throttled", message, {"Retry-After": str(wait_s)})
        entry = self._file.find(name)
        self._waiting += 1
        try:
            async with self._few:
                right = await asyncio.to_thread(_is_right, entry.digest if entry else self._nobodys, password)
        finally:
            self._waiting -= 1
        line = get_logger(user=escaped(name[:NAME_KEPT]), client=escaped(address))
        if not (entry and right):
            line.warning("signin.refused", reason=WRONG.message)
            return WRONG
        self._attempts.succeeded(name[:NAME_KEPT], address)
        line.info("signin.succeeded", role=entry.role)
        return entry


def signing_out(sessions: Sessions) -> Callable[[Request], Awaitable[Response]]:
    """What answers those who sign out."""

    async def answer(request: Request) -> Response:
        response = RedirectResponse(f"{base_of(request)}{SIGN_IN}", 303)
        if session := sessions.end(request, response):
            get_logger(user=escaped(session.name), client=escaped(address_of(request))).info("signin.ended")
        return response

    return answer


def _is_right(digest: str, password: str) -> bool:
    try:
        return _HASHER.verify(digest, password.encode(errors="replace"))
    except VerificationError:
        return False
