"""Who may use the files of a log or a blob store: those who may use its folder, whatever the umask.

What several users share lies in a folder that their group may write, such as one of mode 2770. Who may read a file
can lock it, so the files that are locked are only for those who may write.
"""

import errno
import os
import stat
from pathlib import Path

PRIVATE_FOLDER = 0o700
"""Of a folder that callboard makes itself; its owner opens it to others with chmod."""


def shared_mode(folder: Path) -> int:
    """The mode of a file: read by those who may read the folder, written by those who may write it.

    In a folder like /tmp, in which everybody may write but nobody owns what others wrote, files are private.
    """
    mode = folder.stat().st_mode
    return 0o600 if mode & stat.S_ISVTX else 0o600 | (mode & 0o666)


def writers_mode(folder: Path) -> int:
    """The mode of a file for those alone who may write in the folder."""
    write = shared_mode(folder) & 0o222
    return write | write << 1


def open_shared(path: Path, mode: int) -> int:
    """A descriptor to read and write with; of nothing but a file. The mode is set only by the owner."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o600)
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "not a file", str(path))
    if status.st_uid == os.geteuid() and stat.S_IMODE(status.st_mode) != mode:
        os.fchmod(descriptor, mode)
    return descriptor


def make_shared(folder: Path) -> None:
    """Make a folder for those who may use the one above it. Raises ``FileExistsError``."""
    folder.mkdir(mode=PRIVATE_FOLDER)
    folder.chmod(PRIVATE_FOLDER | folder.parent.stat().st_mode & 0o2777)


def share(path: Path, mode: int) -> None:
    """Give a file its mode by its name: to close a descriptor of a database would let go of SQLite's locks on it."""
    try:
        status = path.lstat()
    except FileNotFoundError:
        return
    if stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid() and stat.S_IMODE(status.st_mode) != mode:
        path.chmod(mode)
