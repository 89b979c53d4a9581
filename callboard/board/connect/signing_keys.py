"""Reads the keys of a board from the files that the configuration names: a configuration never contains secrets."""

from collections.abc import Iterable
from typing import TypedDict

from callboard.door.key_files import read_secret
from callboard.messages.signing import SigningKey


class Keys(TypedDict):
    """The keys, as arguments of a board."""

    signing_key: SigningKey | None
    trusted_keys: tuple[SigningKey, ...]


def read_keys(signing_key: str, trusted_keys: Iterable[str]) -> Keys:
    """Read the keys of these settings. Raises as ``read_key``."""
    return Keys(
        signing_key=read_key(signing_key) if signing_key else None, trusted_keys=tuple(map(read_key, trusted_keys))
    )


def read_key(setting: str) -> SigningKey:
    """Read the key of ``NAME=FILE``.

    Raises ``ConfigError`` if it is not of this form, or if the file cannot be read, is readable by others, or holds too
    short a secret.
    """
    return SigningKey(*read_secret(setting))
