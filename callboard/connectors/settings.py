"""How a member is connected to other clusters."""

import re
import ssl
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from callboard.actors.topology.announcements.connector import Timing
from callboard.connectors.allow_list import AllowList, addresses_of, as_network, names_of
from callboard.connectors.keys import ConnectorKey, KeyRing
from callboard.errors import ConfigError
from callboard.messages.topology.connector_limits import KEEP_MS_MAX

DEFAULT_TIMING = Timing()
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
        try:
            context = ssl.create_default_context(purpose, cafile=str(self.authorities))
            context.load_cert_chain(self.certificate, self.private_key)
        except (OSError, ssl.SSLError) as error:
            raise ConfigError(f"the files of the connectors' certificate cannot be used: {error}") from error
        context.verify_mode = ssl.CERT_REQUIRED
        return context


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
    """

    urls: tuple[tuple[str, ...], ...] = ()
    listen: str = ""
    path: str = "/callboard/topology"
    keys: tuple[ConnectorKey, ...] = ()
    tls: Tls | None = None
    allow: tuple[str, ...] = ()
    proxies: tuple[str, ...] = ()
    timing: Timing = DEFAULT_TIMING

    def check(self) -> None:
        """Raise ``ConfigError`` for settings that cannot work, or that would trust everybody."""
        KeyRing(self.keys)
        AllowList(self.allow, addresses_of, names_of)
        for proxy in self.proxies:
            if as_network(proxy) is None:
                raise ConfigError(f"{proxy!r:.80} is no address or network of a proxy")
        if not _PATH.fullmatch(self.path):
            raise ConfigError(f"{self.path!r:.80} is no path for connectors; write it as /callboard/topology")
        if self.listen and not (self.keys or self.tls or self.allow):
            raise ConfigError("everybody could announce clusters here; set keys, tls or allow for the connectors")
        for urls in self.urls:
            if not urls:
                raise ConfigError("a connector has no URL; give it one, or remove it")
            for url in urls:
                self._check_url(url)
        longest = self.timing.keep_ms(self.timing.interval_ms * self.timing.stable_factor)
        if not (0 < self.timing.interval_ms <= self.timing.timeout_ms and self.timing.stable_factor >= 1):
            raise ConfigError("the connectors' timeout is shorter than the interval, or one of them not positive")
        if longest > KEEP_MS_MAX:
            raise ConfigError(f"announcements would be kept for {longest} ms, and the most is {KEEP_MS_MAX}")

    def address(self) -> tuple[str, int]:
        """Host and port to listen on. Raises ``ConfigError`` if ``listen`` is not of this form."""
        host, _, port = self.listen.rpartition(":")
        if not host or not port.isdecimal() or int(port) > 65_535:
            raise ConfigError(f"{self.listen!r:.80} is no address to listen on; write host:port")
        return host.strip("[]"), int(port)

    def _check_url(self, url: str) -> None:
        try:
            parts = urlsplit(url)
            host, _ = parts.hostname, parts.port
        except ValueError:
            host = None
        if not host or parts.scheme not in {"http", "https"} or not _PATH.fullmatch(parts.path) or "?" in url:
            raise ConfigError("the URL of a connector is written as https://host:port/callboard/topology")
        if "@" in parts.netloc or "#" in url:
            raise ConfigError("the URL of a connector has a user, a password or a fragment; use a key instead")
        if parts.scheme == "http" and not self.keys:
            raise ConfigError("without a key, nothing proves who answers at an http URL; set keys, or use https")
