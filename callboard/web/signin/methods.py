"""Ways to identify the user of a request, and those without sign-in here: this host, a proxy, the service itself."""

import os
from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import Protocol

from starlette.requests import Request
from starlette.routing import Route

from callboard.board.connect.user import current_user
from callboard.door.limits import ID_CHARS_MAX
from callboard.door.rules import is_storable, shown
from callboard.errors import ConfigError
from callboard.web.signin.access import EVERYBODY, Access
from callboard.web.signin.client import is_local
from callboard.web.signin.refusal import Refusal
from callboard.web.user import Role, User

Decide = Callable[[Request], User | Awaitable[User | None] | None]
"""A service's own sign-in: who sends the request, or None."""


class Method(Protocol):
    """One way to identify the user of a request."""

    @property
    def routes(self) -> Sequence[Route]:
        """Those on which people sign in, if they do that here."""
        ...

    async def user(self, request: Request) -> User | Refusal:
        """The user, or why there is none."""
        ...


class Local:
    """The users of this host, as operators."""

    routes: Sequence[Route] = ()

    async def user(self, request: Request) -> User | Refusal:
        """The user of this process, if the request comes from this host."""
        if is_local(request):
            return User(current_user() or f"uid-{os.geteuid()}", "operator")
        return Refusal(
            403, "forbidden", "only this host may see the console, at http://localhost or http://127.0.0.1, and not "
            "through a proxy; for others, it needs users, an OpenID provider or a trusted header",
        )  # fmt: skip


class Header:
    """The user that a proxy names. The guard has checked that a proxy sent the request."""

    routes: Sequence[Route] = ()

    def __init__(self, access: Access) -> None:
        self._access = access

    async def user(self, request: Request) -> User | Refusal:
        """The user that the header names, with the role of their groups, or of the name itself."""
        access = self._access
        named = request.headers.getlist(access.header)
        name = _as_sent(named[0]) if len(named) == 1 else ""
        if not is_user_name(name):
            return Refusal(401, "unauthorized", f"the proxy names no user in {access.header}; sign in there")
        groups = [_as_sent(group) for line in request.headers.getlist(access.role_header) for group in line.split(",")]
        everybody = not (access.viewers or access.operators)
        role: Role | None = "viewer" if everybody else role_of(groups if access.role_header else [name], access)
        return User(name, role) if role else without_role(name)


class Service:
    """The user that a function of the service returns."""

    routes: Sequence[Route] = ()

    def __init__(self, decide: Decide) -> None:
        self._decide = decide

    async def user(self, request: Request) -> User | Refusal:
        """The service's answer. Raises ``ConfigError`` if that is neither a ``User`` with a name nor None."""
        found = self._decide(request)
        user = await found if isinstance(found, Awaitable) else found
        if user is not None and not (isinstance(user, User) and user.name):
            raise ConfigError(f"access returned {shown(user)}; let it return a User with a name, or None for nobody")
        return user or Refusal(401, "unauthorized", "this service does not know you; sign in there, then come back")


def role_of(values: Collection[str], access: Access) -> Role | None:
    """The role of a user with these values; None if they give none."""
    known = {*(value.strip() for value in values), EVERYBODY}
    return "operator" if known & {*access.operators} else "viewer" if known & {*access.viewers} else None


def without_role(name: str) -> Refusal:
    """The answer to a user who is neither a viewer nor an operator."""
    return Refusal(403, "forbidden", f"{name} may not see the console; ask its operator to add them to its viewers")


def is_user_name(value: object) -> bool:
    """Whether a name from elsewhere can stand in audit lines."""
    return isinstance(value, str) and 0 < len(value) <= ID_CHARS_MAX and value.isprintable() and is_storable(value)


def _as_sent(value: str) -> str:
    """The value of a header in UTF-8; empty if it is not in that."""
    try:
        return value.encode("latin-1").decode().strip()
    except UnicodeError:
        return ""
