"""How a member is connected to other clusters."""

import re
import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from callboard.actors.topology.announcements.connector import Timing
from callboard.connectors.allow_list import AllowList, addresses_of, as_network, is_host, names_of
from callboard.connectors.keys import ConnectorKey, KeyRing
from callboard.door.rules import Rule, Unfit, checked, flag, instance_of, optional, place, several, text, whole
from callboard.errors import ConfigError
from callboard.messages.topology.connector_limits import KEEP_MS_MAX

DEFAULT_TIMING = Timing()
BRIDGE_TIMING = Timing(interval_ms=30_000, timeout_ms=120_000, stable_factor=1)
"""As in Apache Sling, and without longer waits, for which that would need to be told."""

SECRET_BYTES_MIN = 16
"""A shorter key is too easily guessed."""

KEY_MS_MIN, KEY_MS_MAX = 60_000, 30 * 86_400_000
"""Three of these keys are accepted at a time."""

ENTRIES_MAX = 1000
"""URLs, entries of the allow-list, or proxies: every request is compared with all of them."""

CHARS_MAX = 1000
"""Of a URL, a path, an address or an entry."""

STABLE_FACTOR_MAX = 1000

_PATH = re.compile(r"(/[A-Za-z0-9._-]+)+")


@dataclass(frozen=True, slots=True)
class Tls:
    """Files of a certificate, its private key, and the authorities whose certificates the other side must show."""

    certificate: Path
    private_key: Path
    authorities: Path

    def context(self, *, server: bool) -> ssl.SSLContext:
        """A context in which both sides show a certificate. Raises ``ConfigError`` if a file cannot be used."""
        purpose = ssl.Purpose.CLIENT_AUTH if server else ssl.Purpose.SERVER_AUTH
        used = f"authorities {self.authorities}"
        try:
            context = ssl.create_default_context(purpose, cafile=str(self.authorities))
            used = f"certificate {self.certificate}, private_key {self.private_key}"
            context.load_cert_chain(self.certificate, self.private_key, password="")  # or it would ask the terminal
        except (OSError, ssl.SSLError) as error:
            raise ConfigError(
                f"the files of the connectors' certificate cannot be used: {used}: {error}; give files in PEM that "
                "this process can read, and the key of the certificate, without a password"
            ) from error
        context.verify_mode = ssl.CERT_REQUIRED
        return context


@dataclass(frozen=True, slots=True, kw_only=True)
class Bridge:
    """How to speak version 1 of the protocol as well, with Apache Sling's connectors, to migrate from them.

    It is weaker than version 2: see docs/topology.md. Bodies are always encrypted.

    Args:
        secret: the other side's shared key, of 16 characters at least.
        urls: one connector for each.
        path: the path of requests, before the caller's id.
        key_ms: how long a derived key is used: the ``hmacSharedKeyTTL`` of the other side.
        gzip: whether requests are compressed.
        timing: when announcements are exchanged and expire; the timeout has to be that of the other side.

    Raises ``ConfigError`` for settings that cannot work.
    """

    secret: bytes = field(repr=False)
    urls: tuple[str, ...] = ()
    path: str = "/libs/sling/topology/connector"
    key_ms: int = 14_400_000
    gzip: bool = False
    timing: Timing = BRIDGE_TIMING

    def __post_init__(self) -> None:
        _normalise(self, BRIDGE)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectorSettings:
    """How a member is connected to other clusters.

    Args:
        urls: one connector for each group of URLs; the first URL of a group that works is used.
        listen: ``host:port`` on which others may connect; empty: nothing listens. Port 0 lets the system choose.
        path: the path of requests, as in the URLs of the others; a proxy must not change it.
        keys: encrypt and authenticate; the first one seals, all of them open. To change a key, add the new one
            everywhere, then put it first everywhere, then remove the old one.
        tls: certificates of both sides; without them, ``https`` URLs are verified as by a browser.
        allow: addresses, networks, host names and patterns that may connect; empty: all who have a key or certificate.
        proxies: addresses and networks of proxies whose ``X-Forwarded-For`` is believed.
        timing: how often announcements are exchanged, and when they expire.
        bridge: whether, and how, Apache Sling's connectors are spoken to.

    Raises ``ConfigError`` for settings that cannot work, or that would trust any process.
    """

    urls: tuple[tuple[str, ...], ...] = ()
    listen: str = ""
    path: str = "/callboard/topology"
    keys: tuple[ConnectorKey, ...] = ()
    tls: Tls | None = None
    allow: tuple[str, ...] = ()
    proxies: tuple[str, ...] = ()
    timing: Timing = DEFAULT_TIMING
    bridge: Bridge | None = None

    def __post_init__(self) -> None:
        _normalise(self, SETTINGS)
        AllowList(self.allow, addresses_of, names_of)
        if self.listen and not (self.keys or self.tls or self.allow):
            raise ConfigError("any process could announce clusters here; set keys, tls or allow for the connectors")
        urls = [url for group in self.urls for url in group]
        if self.bridge and self.bridge.path == self.path:
            raise ConfigError(f"version 1 has the same path as version 2, {self.path}; give it its own")
        if len(set(urls)) < len(urls):
            raise ConfigError("a URL of the connectors is listed twice; remove it from one of the groups")
        if not self.keys and any(url.startswith("http:") for url in urls):
            raise ConfigError("without a key, nothing proves who answers at an http URL; set keys, or use https")

    def address(self) -> tuple[str, int]:
        """Host and port to listen on."""
        host, _, port = self.listen.rpartition(":")
        return host.strip("[]"), int(port)


def _normalise(settings: Bridge | ConnectorSettings, rules: Mapping[str, Rule]) -> None:
    """Check all fields. Raises ``ConfigError``."""
    given = {each.name: getattr(settings, each.name) for each in fields(settings)}
    for name, value in checked(ConfigError, rules, given).items():
        object.__setattr__(settings, name, value)  # frozen for all others
    timing = settings.timing
    if timing.timeout_ms < timing.interval_ms:
        raise ConfigError("the connectors' timeout is shorter than the interval; set a longer timeout_ms")
    if timing.keep_ms(timing.longest_ms) > KEEP_MS_MAX:
        raise ConfigError(
            f"announcements would be kept for {timing.keep_ms(timing.longest_ms)} ms, and the most is {KEEP_MS_MAX}; "
            "set a shorter interval or a smaller stable_factor"
        )


def _like(example: str, fits: Callable[[str], object]) -> Rule:
    """A text that fits."""

    def rule(value: Any) -> str:
        if not isinstance(value, str) or len(value) > CHARS_MAX or not fits(value):
            raise Unfit(value, example)
        return str(value)

    return rule


def _is_listen(value: str) -> bool:
    host, _, port = value.rpartition(":")
    return not value or (is_host(host.strip("[]")) and port.isdecimal() and port.isascii() and int(port) <= 65_535)


def _is_dotless(value: str) -> bool:
    return bool(_PATH.fullmatch(value)) and "." not in value


def _is_url(value: str) -> bool:
    try:
        parts = urlsplit(value)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        return False
    fits = is_host(host) and parts.scheme in {"http", "https"} and bool(_PATH.fullmatch(parts.path))
    return fits and value.isprintable() and not {*"?#@\\"} & set(value)


_URL = _like("written as https://host:port/callboard/topology, without a user, a password or a query", _is_url)


def _secret(value: Any) -> bytes:
    if not isinstance(value, bytes) or not SECRET_BYTES_MIN <= len(value) <= CHARS_MAX or not value.isascii():
        raise Unfit(type(value), f"bytes in ASCII, {SECRET_BYTES_MIN} to {CHARS_MAX}")  # without the value
    return value


_TIME = whole(1, KEEP_MS_MAX)
_TIMING = instance_of(Timing, interval_ms=_TIME, timeout_ms=_TIME, stable_factor=whole(1, STABLE_FACTOR_MAX))

BRIDGE: dict[str, Rule] = {
    "secret": _secret,
    "urls": several(_URL, ENTRIES_MAX),
    "path": _like("a path without dots, such as /libs/sling/topology/connector", _is_dotless),
    "key_ms": whole(KEY_MS_MIN, KEY_MS_MAX),
    "gzip": flag,
    "timing": _TIMING,
}
"""See ``Bridge``."""

SETTINGS: dict[str, Rule] = {
    "urls": several(several(_URL, ENTRIES_MAX, least=1), ENTRIES_MAX),
    "listen": _like("written as host:port, or empty", _is_listen),
    "path": _like("a path, such as /callboard/topology", _PATH.fullmatch),
    "keys": lambda value: tuple(KeyRing(value).by_id.values()),
    "tls": optional(instance_of(Tls, certificate=place, private_key=place, authorities=place)),
    "allow": several(text(CHARS_MAX), ENTRIES_MAX),
    "proxies": several(_like("an address or a network of a proxy", as_network), ENTRIES_MAX),
    "timing": _TIMING,
    "bridge": optional(instance_of(Bridge)),
}
"""See ``ConnectorSettings``."""
