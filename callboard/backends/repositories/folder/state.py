"""A folder repository's own folder, held open by descriptor, so that it stays the same even if renamed.

Below the root lies ``.callboard`` with ``lock``, ``stage`` (new files), ``new`` (a record being written),
``intent`` (a committed apply that is being carried out), ``ledger``, and ``draft0`` and ``draft1``: ledgers saved
without waiting for the disk, written in turn so that a crash harms one at most. A draft counts while its serial is
that of ``ledger``.
"""

import os
from contextlib import ExitStack, suppress
from pathlib import Path

from callboard.backends.local.disk import sync_folder, take_lock
from callboard.backends.repositories.descent import Descent
from callboard.backends.repositories.folder.record import Record, Torn, read_record, write_record
from callboard.backends.repositories.paths import RESERVED
from callboard.errors import RepositoryUnavailable

DRAFTS = ("draft0", "draft1")

_OWN, _STAGE = f"/{RESERVED}", f"/{RESERVED}/stage"
_PRIVATE = 0o700


class State:
    """Creates missing files and folders, and takes the lock. Every method raises ``OSError``.

    ``tree`` is the content, ``stage`` a descriptor of the folder for new files.

    Raises:
        RepositoryBusy: another process has the lock.
    """

    def __init__(self, root: Path) -> None:
        self._root, self._path = root, root / RESERVED
        root.mkdir(parents=True, exist_ok=True)
        with ExitStack() as stack:
            self.tree = stack.enter_context(Descent(root, unlocks=True))
            made = self._make_folders()
            self._folder = self.tree.open_folder(_OWN)
            stack.callback(os.close, self._folder)
            self.stage = self.tree.open_folder(_STAGE)
            stack.callback(os.close, self.stage)
            if made:
                self.sync()
                sync_folder(root)
                sync_folder(root.parent)
            self._lock = take_lock(self._path / "lock", root, self._folder)
            stack.callback(os.close, self._lock)
            self._open = stack.pop_all()

    def close(self) -> None:
        """Release the lock."""
        self._open.close()

    def check(self) -> None:
        """Raise if the held lock is no longer the file below the root, which another process may then have locked."""
        with suppress(FileNotFoundError):
            if os.path.samestat(os.stat(self._path / "lock"), os.fstat(self._lock)):  # noqa: PTH116 - half the time
                return
        raise RepositoryUnavailable(
            f"{self._path} was removed or exchanged while in use; restore {self._root}, or stop the subscriber and "
            "start it again to begin with what is there then"
        )

    def read(self, name: str) -> Record | None:
        """The record; None if there is none. Raises ``RepositoryUnavailable`` if it is damaged."""
        try:
            return read_record(self._path / name, self._folder)
        except Torn:
            # It was synced before it got this name, so a crash cannot explain the damage.
            raise RepositoryUnavailable(
                f"{self._path / name} is damaged; check the disk, then restore {self._root} from a backup, or remove "
                f"{self._path} and start the subscriber with --replace, which imports everything again"
            ) from None

    def drafts(self) -> list[Record]:
        """The complete drafts."""
        found = []
        for name in DRAFTS:
            with suppress(Torn):
                found.append(read_record(self._path / name, self._folder))
        return [draft for draft in found if draft is not None]

    def write(self, name: str, record: Record) -> None:
        """Write the record, durably and atomically, under the name."""
        write_record(self._path / "new", record, durable=True, folder=self._folder)
        self.rename("new", name)
        self.sync()

    def write_draft(self, record: Record) -> None:
        """Overwrite the older draft with the record, without waiting for the disk."""
        write_record(self._path / DRAFTS[record.draft % 2], record, durable=False, folder=self._folder)

    def rename(self, old: str, new: str) -> None:
        """Atomically, replacing any file with the new name."""
        os.replace(old, new, src_dir_fd=self._folder, dst_dir_fd=self._folder)

    def sync(self) -> None:
        """Make its names survive a power failure."""
        os.fsync(self._folder)

    def clear(self) -> None:
        """Remove uncommitted files."""
        self.clear_stage()
        with suppress(FileNotFoundError):
            os.unlink("new", dir_fd=self._folder)

    def clear_stage(self) -> None:
        """Remove all staged files."""
        for name in os.listdir(self.stage):  # noqa: PTH208 - a descriptor, not a path
            os.unlink(name, dir_fd=self.stage)

    def _make_folders(self) -> bool:
        """Create missing folders; returns whether one was missing."""
        try:
            self.tree.folder(_OWN)
            made = False
        except FileNotFoundError:
            made = self.tree.make_folder(_OWN, _PRIVATE)
        except NotADirectoryError:
            raise RepositoryUnavailable(f"{self._path} is a link or a file; replace it by a folder") from None
        self._demand_own()
        return self.tree.make_folder(_STAGE, _PRIVATE) or made

    def _demand_own(self) -> None:
        """Refuse a folder that another user made, who could then replace the ledger and the staged files."""
        own, root = self.tree.status(_OWN), self.tree.status("/")
        if own.st_uid not in (os.geteuid(), root.st_uid):
            raise RepositoryUnavailable(
                f"{self._path} belongs to another user, number {own.st_uid}, who could change what is imported; remove "
                "it, or give it to the user of the subscriber"
            )
        if own.st_uid == os.geteuid():
            self.tree.set_mode(_OWN, _PRIVATE)
