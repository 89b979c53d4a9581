"""Reads secrets from the files that settings name: a configuration never contains secrets."""

import os
import stat
from pathlib import Path

from callboard.errors import ConfigError
from callboard.messages.signing import is_key_name

SECRET_BYTES_MAX = 4096
"""A longer file is not a key."""


def read_secret(setting: str) -> tuple[str, bytes]:
    """The name and the secret of a key ``NAME=FILE``; white space around the secret in the file is ignored.

    Raises ``ConfigError`` if it is not of this form, or if the file cannot be read or is readable by others.
    """
    name, _, file = setting.partition("=") if isinstance(setting, str) else ("", "", "")
    if not is_key_name(name) or not Path(file).name.strip("= \t\r\n"):  # a secret in base64 ends in "=="
        raise ConfigError(
            "a key is written as NAME=FILE, with the secret in the file, never in the setting; a NAME has up to 64 "
            "letters, digits, '.', '_' and '-'"
        )
    try:
        with Path(file).open("rb") as opened:
            _demand_private(name, os.fstat(opened.fileno()))
            secret = opened.read(SECRET_BYTES_MAX + 1).strip()
    except OSError as error:
        raise ConfigError(
            f"the file of key {name!r} cannot be read ({error.strerror}); correct its path or permissions"
        ) from error
    if len(secret) > SECRET_BYTES_MAX:
        raise ConfigError(f"the file of key {name!r} has more than {SECRET_BYTES_MAX} bytes; is it the key's file?")
    return name, secret


def _demand_private(name: str, status: os.stat_result) -> None:
    """Refuse a key that others can read. A group may read another user's file: containers mount secrets that way."""
    own = status.st_uid == os.geteuid()
    if status.st_mode & (stat.S_IRWXO | stat.S_IWGRP | (stat.S_IRWXG if own else 0)):
        raise ConfigError(
            f"the file of key {name!r} may be read or written by others ({stat.filemode(status.st_mode)}), and anyone "
            "with the key can speak for all who have it; run chmod 600 on it, and make a new one if in doubt"
        )
