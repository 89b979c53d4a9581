"""Tokens in forms: what is posted was filled in here, by this user, for this action, and is posted once."""

import hashlib
import hmac
import json
import secrets
import time
from collections.abc import Callable

from callboard.errors import RequestRefused
from callboard.web.user import User

VALID_S = 600
"""How long a form may be open: time to read, and to write a reason."""

SPENT_MAX = 10_000
"""Tokens remembered as spent, each for at most ``VALID_S``. People do not come near; one more form is refused."""

TOKEN_CHARS_MAX = 200


class Forms:
    """Gives out tokens and takes each back once.

    Args:
        secret: what signs them. Processes that serve the same address have the same one; a token is then good at each
            of them, once at each.
        clock: the time, in seconds since 1970.
    """

    def __init__(self, secret: bytes | None = None, clock: Callable[[], float] = time.time) -> None:
        self._secret = secret or secrets.token_bytes(32)
        self._clock = clock
        self._spent: dict[str, int] = {}

    def token(self, user: User, what: str) -> str:
        """A token for a form in which this user, in this session, may ask once for ``what``: an action on a thing."""
        until, nonce = int(self._clock()) + VALID_S, secrets.token_hex(16)
        return f"{until}.{nonce}.{self._signature(str(until), nonce, user, what)}"

    def spend(self, token: str, user: User, what: str) -> None:
        """Take the token back. Raises ``RequestRefused`` unless it is theirs, for ``what``, in time and unspent."""
        until, nonce, signature = ((token if len(token) <= TOKEN_CHARS_MAX else "") + "...").split(".")[:3]
        right = self._signature(until, nonce, user, what)
        if not hmac.compare_digest(signature.encode(errors="replace"), right.encode()):
            raise RequestRefused(
                "this form was not given to you for this action since you signed in; open it again", code="unconfirmed"
            )
        now = self._clock()
        if now >= int(until):
            raise RequestRefused(
                f"this form was open for more than {VALID_S // 60} minutes; open it again", code="gone"
            )
        if nonce in self._spent:
            raise RequestRefused("this form was sent already; look whether it took effect", code="gone")
        self._spent = {each: its for each, its in self._spent.items() if its > now}
        if len(self._spent) >= SPENT_MAX:
            raise RequestRefused("too many forms were sent within minutes; try again later", code="busy")
        self._spent[nonce] = int(until)

    def _signature(self, until: str, nonce: str, user: User, what: str) -> str:
        signed = json.dumps(["form", until, nonce, user.name, user.session, what]).encode()
        return hmac.new(self._secret, signed, hashlib.sha256).hexdigest()
