"""The file of users: a line ``name:role:hash`` for each, with the hash of the password by Argon2."""

import os
import re
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple, get_args

from argon2 import PasswordHasher, extract_parameters
from argon2.exceptions import InvalidHashError

from callboard.backends.local.disk import disk_errors, replacing
from callboard.door.key_files import read_private
from callboard.door.limits import ID_CHARS_MAX
from callboard.door.rules import shown
from callboard.errors import ConfigError
from callboard.escaping import escaped
from callboard.logger import get_logger
from callboard.web.user import Role

FILE_BYTES_MAX = 1 << 20
PASSWORD_CHARS_MIN = 8
PASSWORD_CHARS_MAX = 1000
_HASHER = PasswordHasher()


class Entry(NamedTuple):
    """A user in the file."""

    name: str
    role: Role
    digest: str

    @property
    def proof(self) -> str:
        """Changes with the entry."""
        return sha256(repr(tuple(self)).encode()).hexdigest()[:32]


class UsersFile:
    """The users in a file, read again when it has changed. Raises ``ConfigError`` if it cannot be used now.

    If it cannot be used later, nobody is in it until it is repaired: some users may have been removed.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._seen = self._state()
        try:
            self._entries = read_users(path)
        except ConfigError as error:
            if not isinstance(error.__cause__, FileNotFoundError):
                raise
            self._entries = {}
        if not self._entries:
            add = f"callboard console add-user NAME --role viewer --users {path}"
            raise ConfigError(f"there are no users in {path} yet; add one: {add}")

    def find(self, name: str) -> Entry | None:
        """The user of this name, as of now."""
        if (state := self._state()) != self._seen:
            self._seen = state
            try:
                self._entries = read_users(self._path)
            except ConfigError as error:
                self._entries = {}
                get_logger().error("users.not_read", file=self._path, reason=escaped(error))
        return self._entries.get(name)

    def _state(self) -> tuple[int, ...]:
        try:
            status = os.stat(self._path)  # noqa: PTH116 - asked for each request
        except OSError as error:
            return (error.errno or 0,)
        return status.st_mtime_ns, status.st_size, status.st_ino, status.st_mode, status.st_uid, status.st_ctime_ns


def read_users(path: str) -> Mapping[str, Entry]:
    """The users by name. Raises ``ConfigError`` if others may read the file, or for a line that is no user."""
    entries: dict[str, Entry] = {}
    try:
        text = read_private(path, f"the file of users {path}", FILE_BYTES_MAX).decode()
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path} is not in UTF-8: {error}; correct it") from error
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip() and not line.startswith("#"):
            entry = _entry(line.strip(), f"{path}:{number}")
            if entry.name in entries:
                raise ConfigError(f"{path}:{number}: {shown(entry.name)} is there twice; remove one of them")
            entries[entry.name] = entry
    return entries


def write_user(path: str, name: str, role: Role, password: str) -> bool:
    """Add a user to the file, or replace them; returns whether they are new.

    Raises ``ConfigError`` for a name or a password that cannot be used, or if the file cannot be written.
    """
    check_user_name(name)
    if not PASSWORD_CHARS_MIN <= len(password) <= PASSWORD_CHARS_MAX:
        least, most = PASSWORD_CHARS_MIN, PASSWORD_CHARS_MAX
        raise ConfigError(f"the password has {len(password)} characters; use {least} to {most}")
    file = Path(path).resolve()
    if not file.parent.is_dir():
        raise ConfigError(f"there is no folder {file.parent} for the file of users; create it, or name another file")
    with disk_errors(ConfigError, file):
        before = file.stat() if file.exists() else None
        known = read_users(path) if before else {}
        lines = file.read_text(encoding="utf-8").splitlines() if before else []
        kept = [line for line in lines if line.strip().partition(":")[0] != name]
        kept.append(f"{name}:{role}:{_HASHER.hash(password)}")
        with replacing(file) as new:
            os.fchmod(new.fileno(), before.st_mode & 0o7777 if before else 0o600)
            if before and (before.st_uid, before.st_gid) != (os.geteuid(), os.getegid()):
                os.fchown(new.fileno(), before.st_uid, before.st_gid)  # those who read it have to go on reading it
            new.write("".join(f"{line}\n" for line in kept).encode())
    return name not in known


def check_user_name(name: str) -> None:
    """Raises ``ConfigError`` for what cannot be the name of a user in the file."""
    fits = re.fullmatch(r"[^\s:#][^:]*", name) and name.isprintable() and name == name.strip()
    if not fits or len(name) > ID_CHARS_MAX:
        raise ConfigError(
            f"{shown(name)} cannot be a user's name; use up to {ID_CHARS_MAX} printable characters, without ':', "
            "spaces at the ends, and '#' in front"
        )


def _entry(line: str, where: str) -> Entry:
    name, role, digest = (*line.split(":"), "", "")[:3]
    try:
        check_user_name(name)
        if role not in get_args(Role) or line.count(":") != 2:
            raise InvalidHashError
        extract_parameters(digest)
    except (InvalidHashError, ConfigError):
        roles = " or ".join(get_args(Role))
        raise ConfigError(
            f"{where}: a user is written as name:role:hash, with the role {roles}, and the hash by Argon2; write the "
            "line by `callboard console add-user`"
        ) from None
    return Entry(name, role, digest)  # type: ignore[arg-type]  # one of the roles
