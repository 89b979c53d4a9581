"""The settings of who may see the console and the API."""

import re
from collections.abc import Callable
from dataclasses import dataclass, fields
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import Any
from urllib.parse import urlsplit

from callboard.door.limits import ID_CHARS_MAX
from callboard.door.rules import Rule, Unfit, checked, instance_of, optional, place, place_or_none, several, text
from callboard.errors import ConfigError

Network = IPv4Network | IPv6Network

EVERYBODY = "*"
"""Among viewers or operators: everybody who is signed in."""

VALUES_MAX = 1000
"""Viewers, operators or proxies: every sign-in, or every request, is compared with all of them."""

_HEADER = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,99}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """An OpenID provider, at which people sign in.

    Args:
        discovery: the URL of its discovery document, ``https://.../.well-known/openid-configuration``.
        client_id: the console's id there.
        secret_file: the file with the console's secret there, which only this user may read.
        name_claim: the claim that names the user, in audit lines too; users must not be able to change theirs.
        role_claim: the claim, a text or a list, whose values are compared with viewers and operators.

    Raises ``ConfigError`` for settings that cannot work.
    """

    discovery: str
    client_id: str
    secret_file: str
    name_claim: str = "preferred_username"
    role_claim: str = "groups"

    def __post_init__(self) -> None:
        _check(self, PROVIDER)


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """Who may see the console and the API: users with passwords, those of an OpenID provider, or those that a proxy
    names. With none of these: the users of this host, as operators.

    Args:
        users: the file of users with passwords, as ``callboard console add-user`` writes it.
        provider: where people sign in.
        header: the header in which the proxies name the user. No other client may connect.
        role_header: the header in which they list groups of the user, separated by commas.
        viewers: values of the claim, or groups (names, if there is no ``role_header``), that may look. ``*`` is
            everybody. With a header: if ``viewers`` and ``operators`` are empty, everybody may look.
        operators: values of it that may also act.
        proxies: addresses and networks of proxies. Nothing else may connect then, and what they say in
            ``X-Forwarded-For`` and ``X-Forwarded-Proto`` is believed.
        secret_file: the file with the secret that signs sessions, the same for all processes that serve one address;
            a random one, by default, that ends all sessions when the process does.

    Raises ``ConfigError`` for settings that cannot work, or that would let anybody in.
    """

    users: str = ""
    provider: Provider | None = None
    header: str = ""
    role_header: str = ""
    viewers: tuple[str, ...] = ()
    operators: tuple[str, ...] = ()
    proxies: tuple[str, ...] = ()
    secret_file: str = ""

    def __post_init__(self) -> None:
        _check(self, ACCESS)
        if sum(map(bool, (self.users, self.provider, self.header))) > 1:
            raise ConfigError("users, an OpenID provider and a trusted header exclude each other; set one of them")
        if self.header and not self.proxies:
            raise ConfigError(
                f"any client could send {self.header} and pass for another user; set trusted_proxies to the proxies "
                "that set this header"
            )
        if self.proxies and self.is_local:
            raise ConfigError(
                "through a proxy, everybody would seem to be on this host; set users, an OpenID provider or a trusted "
                "header beside trusted_proxies"
            )
        if self.provider and not (self.viewers or self.operators):
            raise ConfigError(
                'nobody who signs in at the provider could see anything; set viewers, such as ["*"], or operators'
            )
        if (self.role_header and not self.header) or ((self.viewers or self.operators) and self.has_own_roles):
            raise ConfigError(
                "viewers, operators and role_header say who has which role of those that an OpenID provider or a "
                "trusted header names; remove them, or set one of these"
            )

    @property
    def is_local(self) -> bool:
        """Whether only this host may see it."""
        return not (self.users or self.provider or self.header)

    @property
    def has_own_roles(self) -> bool:
        """Whether neither a claim nor a header gives the roles."""
        return self.is_local or bool(self.users)

    def networks(self) -> tuple[Network, ...]:
        """Of the proxies."""
        return tuple(ip_network(each, strict=False) for each in self.proxies)


def _check(settings: Any, rules: dict[str, Rule]) -> None:
    given = {each.name: getattr(settings, each.name) for each in fields(settings)}
    for name, value in checked(ConfigError, rules, given).items():
        object.__setattr__(settings, name, value)  # frozen for all others


def _like(expected: str, fits: Callable[[str], object]) -> Rule:
    def rule(value: Any) -> str:
        if not isinstance(value, str) or not fits(value):
            raise Unfit(value, expected)
        return value

    return rule


def _is_proxy(value: str) -> bool:
    try:
        return ip_network(value, strict=False).prefixlen > 0
    except ValueError:
        return False


def _is_discovery(value: str) -> bool:
    try:
        parts = urlsplit(value)
        host = parts.hostname or ""
    except ValueError:
        return False
    return bool(host) and (parts.scheme == "https" or (parts.scheme == "http" and is_loopback(host)))


def is_loopback(host: str) -> bool:
    """Whether this address, or ``localhost``, is this host itself."""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


_WORD = text(ID_CHARS_MAX, least=1, printable=True)
_HEADER_OR_NONE = _like("the name of a header, such as X-Forwarded-User", lambda it: not it or _HEADER.fullmatch(it))

PROVIDER: dict[str, Rule] = {
    "discovery": _like("a URL with https, or of this host", _is_discovery),
    "client_id": _WORD,
    "secret_file": place,
    "name_claim": _WORD,
    "role_claim": _WORD,
}
"""See ``Provider``."""

ACCESS: dict[str, Rule] = {
    "users": place_or_none,
    "provider": optional(instance_of(Provider)),
    "header": _HEADER_OR_NONE,
    "role_header": _HEADER_OR_NONE,
    "viewers": several(_WORD, VALUES_MAX),
    "operators": several(_WORD, VALUES_MAX),
    "proxies": several(_like("an address or a network of proxies, such as 10.0.0.0/8", _is_proxy), VALUES_MAX),
    "secret_file": place_or_none,
}
"""See ``Access``."""
