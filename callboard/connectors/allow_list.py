"""Which addresses may connect."""

import asyncio
import re
import socket
from collections.abc import Awaitable, Callable, Iterable
from fnmatch import fnmatchcase
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

from callboard.errors import ConfigError

RESOLVE_S = 5.0
"""A name that is not resolved in this time admits no one."""

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

_HOST = re.compile(r"[A-Za-z0-9]([A-Za-z0-9_.-]{0,251}[A-Za-z0-9])?")
_WILDCARD = re.compile(r"[A-Za-z0-9_.:*?-]{1,253}")

Resolve = Callable[[str], Awaitable[frozenset[str]]]
"""Gives the addresses of a name; or, the other way, the names of an address."""


class AllowList:
    """Admits addresses, by entries of four kinds.

    * An address, ``192.0.2.7`` or ``2001:db8::7``.
    * A network, ``192.0.2.0/24``, ``2001:db8::/48``, or ``192.0.2.0 255.255.255.0``.
    * A host name, by the addresses that it has.
    * A pattern with ``*`` or ``?`` for an address or a host name. A name counts only if it also has this address,
      because anyone can claim a name for their own address.

    Raises ``ConfigError`` for any other entry.
    """

    def __init__(self, entries: Iterable[str], addresses_of: Resolve, names_of: Resolve) -> None:
        self._networks: list[Network] = []
        self._hosts: list[str] = []
        self._patterns: list[str] = []
        self._addresses_of, self._names_of = addresses_of, names_of
        for entry in entries:
            self._add(entry)

    def _add(self, entry: str) -> None:
        if network := as_network(entry):
            self._networks.append(network)
        elif ("*" in entry or "?" in entry) and _WILDCARD.fullmatch(entry):
            self._patterns.append(entry.lower())
        elif is_host(entry):
            self._hosts.append(entry)
        else:
            raise ConfigError(
                f"{entry!r:.80} is no entry of an allow-list; use an address, a network such as 192.0.2.0/24, a host "
                "name, or a pattern with * or ?"
            )

    async def admits(self, text: str) -> bool:
        """Whether the address may connect. Text that is no address may not."""
        if (address := as_address(text)) is None:
            return False
        if any(address in network for network in self._networks) or self._matches(str(address)):
            return True
        names = list(self._hosts)
        if any(re.search("[a-z]", pattern) and ":" not in pattern for pattern in self._patterns):
            names += filter(self._matches, sorted(await self._asked(self._names_of, str(address))))
        for name in names:
            if address in map(as_address, await self._asked(self._addresses_of, name)):
                return True
        return False

    def _matches(self, text: str) -> bool:
        return any(fnmatchcase(text.lower(), pattern) for pattern in self._patterns)

    async def _asked(self, resolve: Resolve, question: str) -> frozenset[str]:
        try:
            async with asyncio.timeout(RESOLVE_S):
                return await resolve(question)
        except (OSError, UnicodeError, TimeoutError):
            return frozenset()


def as_address(text: str) -> Address | None:
    """The address, without a zone, and an IPv4 address that is mapped to IPv6 as what it is; None if it is none."""
    try:
        address = ip_address(text.partition("%")[0])
    except ValueError:
        return None
    return (address.ipv4_mapped or address) if isinstance(address, IPv6Address) else address


def is_host(text: str) -> bool:
    """Whether it may be an address or a host name."""
    return bool(as_address(text) or (_HOST.fullmatch(text) and not text.replace(".", "").isdigit()))


def as_network(text: str) -> Network | None:
    """The network or the single address; None if it is neither."""
    try:
        return ip_network("/".join(text.split(" ")), strict=False)
    except ValueError:
        return None


def client_of(peer: str, forwarded_for: Iterable[str], proxies: Iterable[Network]) -> str:
    """The address of the client: the peer's own, or what trusted proxies say who it is, each in ``X-Forwarded-For``.

    What stands before the first address that is no trusted proxy's is the client's own invention.
    """
    trusted = tuple(proxies)
    steps = [each.strip() for line in forwarded_for for each in line.split(",")]
    for step in (peer, *reversed(steps)):
        address = as_address(step)
        if address is None or not any(address in network for network in trusted):
            return step
    return steps[0] if steps else peer


async def addresses_of(name: str) -> frozenset[str]:
    """The addresses of a host name, by the system's resolver."""
    found = await asyncio.get_running_loop().getaddrinfo(name, None, type=socket.SOCK_STREAM)
    return frozenset(str(each[4][0]) for each in found)


async def names_of(address: str) -> frozenset[str]:
    """The host name of an address, by the system's resolver."""
    name, _ = await asyncio.get_running_loop().getnameinfo((address, 0), socket.NI_NAMEREQD)
    return frozenset([name])
