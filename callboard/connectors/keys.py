"""The keys that encrypt what connectors send."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from callboard.door.key_files import read_secret
from callboard.door.rules import Unfit, checked
from callboard.errors import ConfigError
from callboard.messages.signing import is_key_name

SECRET_BYTES = 32

KEYS_MAX = 1000
"""One for each neighbour, and the new ones during a change."""

_HEX = re.compile(rb"[0-9a-fA-F]{64}")


@dataclass(frozen=True, slots=True)
class ConnectorKey:
    """A secret of 32 random bytes that connected clusters share, and its name.

    Raises ``ConfigError`` for an invalid name, or a secret of another length.
    """

    id: str
    secret: bytes = field(repr=False)

    def __post_init__(self) -> None:
        if not is_key_name(self.id):
            raise ConfigError("a key needs a name of letters, digits, '.', '_' and '-', 64 at most")
        if not isinstance(self.secret, bytes) or len(self.secret) != SECRET_BYTES:
            raise ConfigError(f"the key {self.id!r} must be 32 bytes; make one with: openssl rand -hex 32")

    def cipher(self, direction: str) -> ChaCha20Poly1305:
        """The cipher for one direction, ``request`` or ``answer``: each has a key derived from the secret."""
        info = b"callboard connector 2 " + direction.encode()
        return ChaCha20Poly1305(HKDF(SHA256(), length=SECRET_BYTES, salt=None, info=info).derive(self.secret))


def read_connector_key(setting: str) -> ConnectorKey:
    """Read the key of ``NAME=FILE``; the file holds 64 hexadecimal digits, as from ``openssl rand -hex 32``.

    Raises ``ConfigError`` if it is not of this form, or if the file cannot be read, is readable by others, or does not
    hold such a secret.
    """
    name, secret = read_secret(setting)
    if not _HEX.fullmatch(secret):
        raise ConfigError(f"the file of key {name!r} does not hold 64 hexadecimal digits; use: openssl rand -hex 32")
    return ConnectorKey(name, bytes.fromhex(secret.decode()))


class KeyRing:
    """The keys by name. The first one seals; all of them open.

    Raises ``ConfigError`` for what is no list of keys, or has two of one name.
    """

    def __init__(self, keys: Iterable[ConnectorKey]) -> None:
        given = checked(ConfigError, {"keys": _keys}, {"keys": keys})["keys"]
        self.sealing: ConnectorKey | None = given[0] if given else None
        self.by_id: dict[str, ConnectorKey] = {key.id: key for key in given}
        if len(self.by_id) < len(given):
            raise ConfigError("two keys of the connectors have the same name; give each its own")


def _keys(value: Any) -> tuple[ConnectorKey, ...]:
    """What is no key is not shown: it may be a secret."""
    is_list = isinstance(value, Iterable) and not isinstance(value, str | bytes | Mapping)
    taken = tuple(islice(value, KEYS_MAX + 1)) if is_list else ()
    if not is_list or len(taken) > KEYS_MAX or not all(isinstance(each, ConnectorKey) for each in taken):
        raise Unfit(type(value), f"a list of up to {KEYS_MAX} ConnectorKey")
    return taken
