"""Holds new files, complete and durable, until they are renamed into place."""

import hashlib
import os
from collections.abc import Callable
from contextlib import AbstractContextManager

from callboard.backends.local.disk import write_all
from callboard.backends.repositories.operation_check import check_content
from callboard.backends.repository import Put

OPEN_FILES_MAX = 64
"""How many staged files are kept open to be synced together: well below the usual limit of 1024."""


class Stage:
    """New files in the folder with the descriptor ``folder``, named by number.

    A file is synced only after some later files were written: by then its pages are on their way to the disk, so that
    syncing many small files takes about half as long as one by one.
    """

    def __init__(self, folder: int, own_errors: Callable[[], AbstractContextManager[None]]) -> None:
        self._folder = folder
        self._own_errors = own_errors
        self._unsynced: list[int] = []
        self._count = 0

    def add(self, put: Put) -> str:
        """Write the content of the entry and return the name of the staged file.

        Raises ``PackageCorrupt`` if size or digest differ from the entry's, and any error of the content.
        """
        entry, digest, size = put.entry, hashlib.sha256(), 0
        name = str(self._count)
        self._count += 1
        with self._own_errors():
            if len(self._unsynced) >= OPEN_FILES_MAX:
                self._sync_files()
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
            descriptor = os.open(name, flags, 0o600, dir_fd=self._folder)
        self._unsynced.append(descriptor)
        for chunk in entry.open():
            size += len(chunk)
            if size > entry.size:
                break
            with self._own_errors():
                write_all(descriptor, chunk)
                # This drops no freshly written pages; it starts writing them while the digest is computed.
                os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
            digest.update(chunk)
        check_content(put, size, digest.hexdigest())
        with self._own_errors():
            os.fchmod(descriptor, entry.mode)
        return name

    def sync(self) -> None:
        """Make all staged files durable."""
        with self._own_errors():
            if self._count:
                self._sync_files()
                os.fsync(self._folder)

    def close(self) -> None:
        """Close the files; staged content stays."""
        while self._unsynced:
            os.close(self._unsynced.pop())

    def _sync_files(self) -> None:
        for descriptor in self._unsynced:
            os.fsync(descriptor)
        self.close()
