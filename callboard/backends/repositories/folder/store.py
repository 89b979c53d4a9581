"""The folder repository itself, as blocking calls.

Below the root lies ``.callboard`` with ``lock``, ``stage`` (new files), ``new`` (a record being written),
``intent`` (a committed apply that is being carried out), ``ledger``, and ``draft0`` and ``draft1``: ledgers saved
without waiting for the disk, written in turn so that a crash harms one at most. They count while their serial is
the one of ``ledger``.
"""

import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, suppress
from pathlib import Path

from callboard.backends.disk import disk_errors, sync_folder, take_lock
from callboard.backends.paths import RESERVED
from callboard.backends.repositories.folder.plan import Plan
from callboard.backends.repositories.folder.record import Record, Torn, read_record, write_record
from callboard.backends.repositories.folder.roll_forward import clear_stage, roll_forward
from callboard.backends.repositories.folder.stage import Stage
from callboard.backends.repositories.folder_source import FolderSource
from callboard.backends.repositories.operation_check import check_operation
from callboard.backends.repository import Delete, Entry, EntryKind, Keep, Operation, Prune, Put
from callboard.errors import RepositoryUnavailable


class FolderStore:
    """See ``callboard.backends.repository.Repository`` for what each method does and raises."""

    def __init__(self, root: Path) -> None:
        self._root = root.absolute()
        self._source = FolderSource(self._root)
        self._state = self._root / RESERVED
        self._stage = self._state / "stage"
        self._intent = self._state / "intent"
        self._ledger = self._state / "ledger"
        self._drafts = (self._state / "draft0", self._state / "draft1")
        self._new = self._state / "new"
        self._lock: int | None = None
        self._settled = False
        self._serial = self._draft = 0

    def entries(self, path: str, deep: bool) -> Iterator[Entry]:
        """Read the content; works without ``open``, and sees an apply half done while one is running."""
        return self._source.entries(path, deep)

    def open(self) -> bytes:
        """Take the lock unless this object has it, settle what was interrupted, and return the ledger."""
        with self._own_errors():
            if self._lock is None:
                self._make_folders()
                self._lock = take_lock(self._state / "lock", self._root)
            self._check_lock(self._lock)
            return self._settle()

    def apply(self, operations: Iterable[Operation], ledger: bytes) -> None:
        """Stage, write the intent, roll forward. From the rename of the intent on, the new state holds."""
        self._begin()
        stage = Stage(self._stage, self._own_errors)
        try:
            with self._own_errors():
                plan = Plan(self._root)
            for operation in operations:
                check_operation(operation)
                content = ""
                if isinstance(operation, Put) and operation.entry.kind is EntryKind.FILE:
                    content = stage.add(operation)
                with self._own_errors():
                    _add_to_plan(plan, operation, content)
            with self._own_errors():
                steps = plan.steps()
            stage.sync()
        except BaseException:
            # Nothing is committed: make room again at once, the disk may be full.
            stage.close()
            with suppress(OSError):
                clear_stage(self._stage)
            raise
        with self._own_errors():
            if not steps:
                self._write_ledger(ledger)
            else:
                record = Record(self._serial + 1, 0, ledger, steps)
                write_record(self._new, record, durable=True)
                self._new.replace(self._intent)
                sync_folder(self._state)
                self._carry_out(record)
        self._settled = True

    def save(self, ledger: bytes, durable: bool = True) -> None:
        """Replace the ledger, or with ``durable=False`` the older one of the drafts."""
        self._begin()
        with self._own_errors():
            if durable:
                self._write_ledger(ledger)
            else:
                self._write_draft(ledger)
        self._settled = True

    def close(self) -> None:
        """Let go of the lock."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def _begin(self) -> None:
        """Before a change: settle what an earlier one left when it failed; this one may fail as well."""
        if self._lock is None:
            raise RepositoryUnavailable(f"{self._root} is not open; call open() first")
        if not self._settled:
            with self._own_errors():
                self._settle()
        self._settled = False

    def _settle(self) -> bytes:
        """Finish a committed apply, clear the rest, and return the ledger that holds."""
        self._settled = False
        # What is read here is acted on, so it must not go away again: a crash may have come before its sync.
        sync_folder(self._state)
        intent = self._read(self._intent)
        if intent is not None:
            self._carry_out(intent)
        clear_stage(self._stage)
        self._new.unlink(missing_ok=True)
        newest = self._read(self._ledger) or Record(0, 0, b"")
        for path in self._drafts:
            with suppress(Torn):
                draft = read_record(path)
                if draft is not None and draft.serial == newest.serial and draft.draft > newest.draft:
                    newest = draft
        self._serial, self._draft = newest.serial, newest.draft
        self._settled = True
        return newest.ledger

    def _carry_out(self, record: Record) -> None:
        roll_forward(self._root, self._stage, record.steps)
        # No sync: if the loss of power undoes this rename, the intent is there again and repeats harmlessly.
        # Whatever is made durable later in this folder makes this durable before it.
        self._intent.replace(self._ledger)
        self._serial, self._draft = record.serial, 0
        clear_stage(self._stage)

    def _write_ledger(self, ledger: bytes) -> None:
        write_record(self._new, Record(self._serial + 1, 0, ledger), durable=True)
        self._new.replace(self._ledger)
        sync_folder(self._state)
        self._serial, self._draft = self._serial + 1, 0

    def _write_draft(self, ledger: bytes) -> None:
        record = Record(self._serial, self._draft + 1, ledger)
        write_record(self._drafts[record.draft % 2], record, durable=False)
        self._draft = record.draft

    def _read(self, path: Path) -> Record | None:
        try:
            return read_record(path)
        except Torn:
            # It was synced before it got this name, so no crash explains it.
            raise RepositoryUnavailable(
                f"{path} is damaged; check the disk, then restore {self._root} from a backup, or remove "
                f"{self._state} to let the subscriber start anew"
            ) from None

    def _make_folders(self) -> None:
        if not self._stage.is_dir():
            self._stage.mkdir(parents=True, exist_ok=True)
            sync_folder(self._state)
            sync_folder(self._root)
            sync_folder(self._root.parent)
        if not stat.S_ISDIR(self._state.lstat().st_mode):
            raise RepositoryUnavailable(f"{self._state} is a link; replace it by a folder")

    def _check_lock(self, descriptor: int) -> None:
        """Raise if the lock that is held is no longer the one in the folder, which anybody may take by now."""
        with suppress(FileNotFoundError):
            if os.path.samestat((self._state / "lock").stat(), os.fstat(descriptor)):
                return
        raise RepositoryUnavailable(
            f"{self._state} was removed or exchanged while in use; restore {self._root}, or stop the subscriber and "
            "start it again to begin with what is there then"
        )

    def _own_errors(self) -> AbstractContextManager[None]:
        return disk_errors(RepositoryUnavailable, self._root)


def _add_to_plan(plan: Plan, operation: Operation, content: str) -> None:
    match operation:
        case Keep(path, mode):
            plan.keep(path, mode)
        case Delete(path):
            plan.delete(path)
        case Prune(path, keep):
            plan.prune(path, keep)
        case Put(Entry(path, EntryKind.FOLDER, mode)):
            plan.put_folder(path, mode)
        case Put(Entry(path, EntryKind.LINK, target=target)):
            plan.put_link(path, target)
        case Put(Entry(path)):
            plan.put_file(path, content)
