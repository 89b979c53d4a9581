"""Checks where a service should listen."""

from ipaddress import ip_address

from callboard.door.rules import shown
from callboard.errors import ConfigError

LOOPBACK = "127.0.0.1"
PORT_MAX = 65_535
HOST_CHARS_MAX = 253


def listening(value: str, option: str = "--listen", *, any_port: bool = False) -> tuple[str, int]:
    """The host and the port of ``[HOST:]PORT``, of this host alone unless one is given; with ``any_port``, the port may
    be 0, which is any free one.

    Raises ``ConfigError``, which names the ``option``.
    """
    host, _, port = value.rpartition(":")
    least = 0 if any_port else 1
    whole = port.isascii() and port.isdecimal() and len(port) <= len(str(PORT_MAX)) and least <= int(port) <= PORT_MAX
    if not whole or not _is_host(host) or (not host and value.startswith(":")):
        example = "[HOST:]PORT, such as 9100, 0.0.0.0:9100 or [::1]:9100"
        raise ConfigError(f"{option} is {shown(value)}, but should be {example}")
    return host.strip("[]") or LOOPBACK, int(port)


def _is_host(text: str) -> bool:
    """Whether it may be a host's name or address, in brackets if that has colons; empty is the default."""
    if text.startswith("["):
        try:
            return text.endswith("]") and ip_address(text[1:-1]).version == 6
        except ValueError:
            return False
    names = text.replace(".", "").replace("-", "").replace("_", "")
    return not text or (len(text) <= HOST_CHARS_MAX and text.isascii() and names.isalnum())
