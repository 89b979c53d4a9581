"""Reads secrets from the files that settings name: a configuration never contains secrets."""

import os
import stat
from pathlib import Path

from callboard.errors import ConfigError
from callboard.messages.signing import is_key_name

SECRET_BYTES_MAX = 4096
"""A longer file is not a secret."""


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
    return name, read_private(file, f"the file of key {name!r}")


def read_private(file: str, what: str, bytes_max: int = SECRET_BYTES_MAX) -> bytes:
    """The content of a file that only this user, or a group, may read; without white space around it.

    Raises ``ConfigError``, which names it as ``what``, if it cannot be read or is readable by others.
    """
    try:
        with Path(file).open("rb") as opened:
            _demand_private(what, os.fstat(opened.fileno()))
            secret = opened.read(bytes_max + 1).strip()
    except OSError as error:
        raise ConfigError(f"{what} cannot be read ({error.strerror}); correct its path or permissions") from error
    if len(secret) > bytes_max:
        raise ConfigError(f"{what} has more than {bytes_max} bytes; is it the right file?")
    return secret


def _demand_private(what: str, status: os.stat_result) -> None:
    """Refuse a file that others can read. A group may read another user's: containers mount secrets that way."""
    own = status.st_uid == os.geteuid()
    if status.st_mode & (stat.S_IRWXO | stat.S_IWGRP | (stat.S_IRWXG if own else 0)):
        raise ConfigError(
            f"{what} may be read or written by others ({stat.filemode(status.st_mode)}), who can then speak for those "
            "it belongs to; run chmod 600 on it, and replace what is in it if in doubt"
        )
