"""Local-disk operations of the folder and SQLite backends: lock, write, make durable, explain errors.

What is synced, and when:

* A file that is written whole (``replacing``: blobs, archives, state): before it gets its name; then its folder.
* A folder repository: the staged files of a package in groups (``stage.py``), then its intent, then every folder that
  it changed (``roll_forward.py``), and only then the intent is removed.
* SQLite: at each commit, as the pragmas in ``logs/sqlite/schema.py`` and ``repositories/sqlite/store.py`` say.
* A ledger stored with ``durable=False`` (see ``backends/repository.py``): not at all. A power failure may undo it.
"""

import errno
import fcntl
import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from callboard.backends.local.file_locks import lock_holder
from callboard.errors import CallboardError, RepositoryBusy

_FIXES = {
    errno.ENOSPC: "free space on that file system",
    errno.EDQUOT: "free space or raise the quota of this user",
    errno.EFBIG: "raise the file size limit of this process",
    errno.EROFS: "mount that file system for writing",
    errno.EACCES: "give this user write permission",
    errno.EPERM: "make this user the owner, or give it write permission",
    errno.EMFILE: "raise the limit of open files of this process",
    errno.ENFILE: "raise the limit of open files of this host",
    errno.EIO: "check the disk and the kernel's log",
    errno.EBUSY: "unmount what is mounted there",
    errno.EXDEV: "keep it on one file system",
    errno.ENAMETOOLONG: "use a root with a shorter path",
    errno.ENOTDIR: "choose a path that is a folder, and no link below the root",
    errno.ELOOP: "remove that link",
}


@contextmanager
def disk_errors(kind: Callable[[str], CallboardError], path: Path) -> Iterator[None]:
    """Turn an ``OSError`` of the block into ``kind``, naming the path, the reason and what to do."""
    try:
        yield
    except OSError as error:
        where = os.fsdecode(error.filename) if isinstance(error.filename, str | bytes) else str(path)
        fix = _FIXES.get(error.errno or 0, "repair it")
        raise kind(f"{where}: {error.strerror or error}; {fix}, then try again") from error


def write_all(descriptor: int, data: bytes) -> None:
    """Write every byte; ``os.write`` alone may stop early when the disk is nearly full."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


@contextmanager
def replacing(target: Path) -> Iterator[BinaryIO]:
    """A new file that replaces the target when the block ends; durable then. Raises ``OSError``.

    Until then it has an unguessable name beside the target, so that no other process can have put a link there.
    """
    part = target.with_name(f".{target.name[:100]}.{secrets.token_hex(8)}.part")
    descriptor = os.open(part, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
    try:
        with open(descriptor, "w+b") as file:  # noqa: PTH123 - a descriptor, not a path
            yield file
            file.flush()
            os.fsync(descriptor)
        part.replace(target)
        sync_folder(target.parent)
    finally:
        part.unlink(missing_ok=True)


def sync_folder(folder: Path) -> None:
    """Make the folder's names and mode survive a power failure."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def take_lock(path: Path, locked: Path, folder: int | None = None) -> int:
    """Lock the file, on behalf of ``locked``, for as long as the returned descriptor is open.

    ``folder`` is a descriptor of the folder that the file is in. A link in the file's place is refused.

    The kernel releases the lock when the process dies, so it is never stale; the file itself is never removed, since
    two processes could then lock two files of the same name.

    Raises:
        RepositoryBusy: names the process that holds it.
        OSError: the file cannot be created.
    """
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        descriptor = os.open(path if folder is None else path.name, flags, 0o600, dir_fd=folder)
    except OSError as error:
        error.filename = str(path)
        raise
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.ftruncate(descriptor, 0)
        write_all(descriptor, b"%d\n" % os.getpid())
    except BlockingIOError:
        named = os.read(descriptor, 20).decode("ascii", "replace").strip()
        holder = lock_holder(os.fstat(descriptor)) or (named if named.isdecimal() else "unknown")
        os.close(descriptor)
        raise RepositoryBusy(
            f"{locked} is open in process {holder}; stop that one or choose another repository"
        ) from None
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor
