"""File permissions of a log or a blob store: the same users as for its folder, not by the umask.

To share one, use a folder that a group may write, such as one of mode 2770. Anyone who can read a file can lock it, so
lock files are only for users who may write.
"""

import errno
import os
import stat
from pathlib import Path

PRIVATE_FOLDER = 0o700
"""The mode of folders that callboard creates; the owner opens them to others with chmod."""


def shared_mode(folder: Path) -> int:
    """The mode of a file: readable and writable for those who may read and write the folder.

    In a sticky folder such as /tmp, where all users may create files but only remove their own, files are private.
    """
    mode = folder.stat().st_mode
    return 0o600 if mode & stat.S_ISVTX else 0o600 | (mode & 0o666)


def writers_mode(folder: Path) -> int:
    """The mode of a file for only those who may write in the folder."""
    write = shared_mode(folder) & 0o222
    return write | write << 1


def open_shared(path: Path, mode: int) -> int:
    """A read-write descriptor of a regular file. Only the owner sets the mode."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o600)
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "not a file", str(path))
    if status.st_uid == os.geteuid() and stat.S_IMODE(status.st_mode) != mode:
        os.fchmod(descriptor, mode)
    return descriptor


def make_shared(folder: Path) -> None:
    """Make a folder for those who may use its parent. Raises ``FileExistsError``."""
    folder.mkdir(mode=PRIVATE_FOLDER)
    folder.chmod(PRIVATE_FOLDER | folder.parent.stat().st_mode & 0o2777)


def share(path: Path, mode: int) -> None:
    """Set a file's mode by name: closing a descriptor of a database would release SQLite's locks on it."""
    try:
        status = path.lstat()
    except FileNotFoundError:
        return
    if stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid() and stat.S_IMODE(status.st_mode) != mode:
        path.chmod(mode)
