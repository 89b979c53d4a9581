"""Sessions: a signed cookie says who signed in, and until when. Nothing is stored here but which of them were ended."""

import secrets
import time
from collections.abc import Callable
from hashlib import sha256
from typing import Any, NamedTuple

from itsdangerous import BadData, URLSafeSerializer
from starlette.requests import Request
from starlette.responses import Response

from callboard.door.key_files import read_private
from callboard.door.rules import shown
from callboard.errors import ConfigError
from callboard.web.signin.refusal import base_of
from callboard.web.user import Role, User

COOKIE = "callboard_session"
LASTS_S = 12 * 3600
"""A working day, however much is done in it."""

ENDED_MAX = 10_000
"""Sessions remembered as ended, each until it would have expired; beyond that, the oldest are forgotten."""

SECRET_BYTES_MIN = 16


class Session(NamedTuple):
    """Who signed in, until when in seconds since 1970. ``proof`` is what has to be true still for it to count."""

    name: str
    role: Role
    proof: str
    id: str
    until: int

    def user(self) -> User:
        """Whose it is."""
        return User(self.name, self.role, self.id)


class Signed:
    """Signed data in a cookie."""

    def __init__(self, cookie: str, below: str, secret: bytes, settings: object) -> None:
        self._cookie, self._below = cookie, below
        salt = sha256(f"{cookie} {settings!r}".encode()).digest()  # under other settings, it is worth nothing
        self._signer = URLSafeSerializer(
            secret, salt, signer_kwargs={"key_derivation": "hmac", "digest_method": sha256}
        )

    def read(self, request: Request) -> Any:
        """The data; None if there are none, or somebody else wrote them."""
        try:
            return self._signer.loads(request.cookies.get(self._cookie, ""))
        except BadData:
            return None

    def write(self, request: Request, response: Response, data: object, lasts_s: int) -> None:
        """Have the browser send the data, to this site alone; over TLS alone if they are sent to it so."""
        value = str(self._signer.dumps(data)) if lasts_s else ""
        response.set_cookie(
            self._cookie, value, lasts_s, path=f"{base_of(request)}{self._below}" or "/", httponly=True, samesite="lax",
            secure=request.url.scheme == "https",
        )  # fmt: skip


class Sessions:
    """Begins sessions, finds that of a request, and ends it.

    Args:
        secret: signs them.
        settings: those under which they count.
        clock: the time, in seconds since 1970.
    """

    def __init__(self, secret: bytes, settings: object, clock: Callable[[], float] = time.time) -> None:
        self._signed = Signed(COOKIE, "", secret, settings)
        self._clock = clock
        self._ended: dict[str, int] = {}

    def begin(self, request: Request, response: Response, name: str, role: Role, proof: str = "") -> None:
        """Begin one with this response."""
        session = Session(name, role, proof, secrets.token_hex(16), int(self._clock()) + LASTS_S)
        self._signed.write(request, response, session, LASTS_S)

    def of(self, request: Request) -> Session | None:
        """The session of the request, unless it has ended."""
        data = self._signed.read(request)
        session = Session(*data) if data else None
        return session if session and self._clock() < session.until and session.id not in self._ended else None

    def end(self, request: Request, response: Response) -> Session | None:
        """End it, also for those who have a copy of the cookie."""
        if session := self.of(request):
            now = self._clock()
            kept = [(each, until) for each, until in self._ended.items() if until > now][1 - ENDED_MAX :]
            self._ended = {**dict(kept), session.id: session.until}
        self._signed.write(request, response, None, 0)
        return session


def session_secret(file: str) -> bytes:
    """The secret in the file, or a random one. Raises ``ConfigError`` if it is too short, or others may read it."""
    if not file:
        return secrets.token_bytes(32)
    secret = read_private(file, f"the file of the session secret, {shown(file)},")
    if len(secret) < SECRET_BYTES_MIN:
        raise ConfigError(
            f"the secret in {file} has {len(secret)} bytes, which can be guessed; write {SECRET_BYTES_MIN} or more "
            "random ones into it, such as by: openssl rand -hex 32"
        )
    return secret
