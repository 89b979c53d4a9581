"""Who sent a request: from where, and from which site."""

from collections.abc import Iterable
from ipaddress import IPv6Address, ip_address
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.types import Scope

from callboard.web.signin.access import Network, is_loopback

FORWARDED = ("forwarded", "via", "x-forwarded-for", "x-forwarded-host", "x-real-ip")
"""Headers that proxies add."""


def seen_through(scope: Scope, proxies: tuple[Network, ...]) -> Scope | None:
    """The request as the proxies got it: with the client's address, and its scheme. None if no proxy sent it.

    Without proxies, it is as it came. What stands before the first address that is no proxy's is invented.
    """
    seen = {**scope, "state": dict(scope.get("state") or {})}  # what is set in here stays in here
    if not proxies:
        return seen
    peer, headers = (scope.get("client") or ("",))[0], Headers(scope=scope)
    if not _is_in(peer, proxies):
        return None
    steps = _listed(headers, "x-forwarded-for")
    seen["client"] = (next((each for each in reversed(steps) if not _is_in(each, proxies)), peer), 0)
    if schemes := _listed(headers, "x-forwarded-proto"):
        seen["scheme"] = "https" if schemes[-1].lower() == "https" else "http"
    return seen


def is_local(request: Request) -> bool:
    """Whether it comes from this host, by a browser that was told so: with the name of another site in ``Host``, that
    site has its name lead here, to read what is shown. Nor may a proxy have passed it on.
    """
    host = request.client.host if request.client else ""
    through = any(name in request.headers for name in FORWARDED)
    return is_loopback(host) and is_loopback(_host_of(request.headers.get("host", ""))) and not through


def is_cross_site(request: Request, *, may_lead_here: bool) -> bool:
    """Whether another site's page made a browser send it, other than by leading there, if that ``may_lead_here``. What
    is no browser sends none of these headers.
    """
    if may_lead_here and request.headers.get("sec-fetch-mode", "navigate") == "navigate":
        return False
    site, origin = request.headers.get("sec-fetch-site"), request.headers.get("origin")
    if site is not None:
        return site not in {"same-origin", "none"}
    host = request.headers.get("host", "").lower()
    return origin is not None and origin.lower() not in {f"http://{host}", f"https://{host}"}


def address_of(request: Request) -> str:
    """The client, as far as one can be told from others: of IPv6, each has a whole network."""
    host = request.client.host if request.client else ""
    try:
        address = ip_address(host)
    except ValueError:
        return host[:100]
    if isinstance(address, IPv6Address) and not address.ipv4_mapped:
        return str(IPv6Address(int(address) >> 64 << 64))
    return host


def _is_in(host: str, networks: Iterable[Network]) -> bool:
    try:
        address = ip_address(host)
    except ValueError:
        return False
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return any((mapped or address) in network for network in networks)


def _listed(headers: Headers, name: str) -> list[str]:
    return [each.strip() for line in headers.getlist(name) for each in line.split(",") if each.strip()]


def _host_of(header: str) -> str:
    try:
        return urlsplit(f"//{header}").hostname or ""
    except ValueError:
        return ""
