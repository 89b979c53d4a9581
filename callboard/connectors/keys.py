"""The keys that encrypt what connectors send."""

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from itertools import islice
from typing import Any

from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from callboard.door.key_files import read_secret
from callboard.door.rules import Unfit, checked, several
from callboard.errors import ConfigError
from callboard.messages.signing import is_key_name

SECRET_BYTES = 32

KEYS_MAX = 1000
"""One for each neighbour, and the new ones during a change."""

_PEER = re.compile(r"[A-Za-z0-9_.*?-]{1,100}")
_HEX = re.compile(rb"[0-9a-fA-F]{64}")


def _peer(value: Any) -> str:
    if not isinstance(value, str) or not _PEER.fullmatch(value):
        raise Unfit(value, "the id of an instance, or a pattern such as red-*")
    return value


_PEERS = several(_peer, KEYS_MAX)


@dataclass(frozen=True, slots=True)
class ConnectorKey:
    """A secret of 32 random bytes that connected clusters share, and its name.

    ``peers`` are the only instances that are believed when they use it, as ids or patterns with ``*``, and they are
    believed with no other key. Without them, all who have the key trust each other.

    Raises ``ConfigError`` for an invalid name, a secret of another length, or peers that cannot be.
    """

    id: str
    secret: bytes = field(repr=False)
    peers: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not is_key_name(self.id):
            raise ConfigError("a key needs a name of letters, digits, '.', '_' and '-', 64 at most")
        if not isinstance(self.secret, bytes) or len(self.secret) != SECRET_BYTES:
            raise ConfigError(f"the key {self.id!r} must be 32 bytes; make one with: openssl rand -hex 32")
        object.__setattr__(self, "peers", checked(ConfigError, {"peers": _PEERS}, {"peers": self.peers})["peers"])

    def is_of(self, instance: str) -> bool:
        """Whether this instance is one of the peers."""
        return any(fnmatchcase(instance, peer) for peer in self.peers)

    def cipher(self, direction: str) -> ChaCha20Poly1305:
        """The cipher for one direction, ``request`` or ``answer``: each has a key derived from the secret."""
        info = b"callboard connector 2 " + direction.encode()
        return ChaCha20Poly1305(HKDF(SHA256(), length=SECRET_BYTES, salt=None, info=info).derive(self.secret))


def read_connector_key(setting: str, peers: Iterable[str] = ()) -> ConnectorKey:
    """Read the key of ``NAME=FILE``; the file holds 64 hexadecimal digits, as from ``openssl rand -hex 32``.

    Args:
        setting: the name of the key, and its file.
        peers: see ``ConnectorKey``.

    Raises ``ConfigError`` if it is not of this form, or if the file cannot be read, is readable by others, or does not
    hold such a secret.
    """
    name, secret = read_secret(setting)
    if not _HEX.fullmatch(secret):
        raise ConfigError(f"the file of key {name!r} does not hold 64 hexadecimal digits; use: openssl rand -hex 32")
    return ConnectorKey(name, bytes.fromhex(secret.decode()), peers)  # type: ignore[arg-type]  # it checks them


class KeyRing:
    """The keys by name. The first one seals; all of them open.

    Raises ``ConfigError`` for what is no list of keys, or has two of one name.
    """

    def __init__(self, keys: Iterable[ConnectorKey]) -> None:
        given = checked(ConfigError, {"keys": _keys}, {"keys": keys})["keys"]
        self.by_id: dict[str, ConnectorKey] = {key.id: key for key in given}
        self.worked: dict[str, ConnectorKey | None] = {}
        if len(self.by_id) < len(given):
            raise ConfigError("two keys of the connectors have the same name; give each its own")

    def in_turn(self, url: str) -> list[ConnectorKey | None]:
        """The keys to seal with for a URL until one is known there: the one that ``worked``, and all in their order.

        None if there are no keys.
        """
        known = [self.worked[url]] if url in self.worked else []
        return known + [key for key in self.by_id.values() or [None] if key not in known]

    def believes(self, key: ConnectorKey | None, instance: str, certified: Collection[str] | None) -> bool:
        """Whether one who uses this key, and has a certificate for these names, may speak as this instance.

        ``certified`` is None where certificates do not count.
        """
        if own := [each for each in self.by_id.values() if each.is_of(instance)]:
            return key in own
        return not (key and key.peers) and (certified is None or instance in certified)


def _keys(value: Any) -> tuple[ConnectorKey, ...]:
    """What is no key is not shown: it may be a secret."""
    is_list = isinstance(value, Iterable) and not isinstance(value, str | bytes | Mapping)
    taken = tuple(islice(value, KEYS_MAX + 1)) if is_list else ()
    if not is_list or len(taken) > KEYS_MAX or not all(isinstance(each, ConnectorKey) for each in taken):
        raise Unfit(type(value), f"a list of up to {KEYS_MAX} ConnectorKey, as read_connector_key gives")
    return taken
