"""The folder repository itself, with blocking calls."""

import os
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, suppress
from pathlib import Path

from callboard.backends.fence import Fence, Token
from callboard.backends.local.disk import disk_errors
from callboard.backends.repositories.descent import Descent
from callboard.backends.repositories.folder.plan import Plan
from callboard.backends.repositories.folder.record import Record
from callboard.backends.repositories.folder.roll_forward import roll_forward
from callboard.backends.repositories.folder.stage import Stage
from callboard.backends.repositories.folder.state import State
from callboard.backends.repositories.folder_source import FolderSource
from callboard.backends.repositories.occupation import refusal
from callboard.backends.repositories.operation_check import check_operation
from callboard.backends.repositories.paths import RESERVED
from callboard.backends.repository import Delete, Entry, EntryKind, Keep, Operation, Prune, Put
from callboard.errors import RepositoryUnavailable


class FolderStore:
    """See ``callboard.backends.repository.Repository`` for what each method does and raises."""

    def __init__(self, root: Path) -> None:
        self._root = root.absolute()
        self._source = FolderSource(self._root)
        self._state: State | None = None
        self._settled = False
        self._serial = self._draft = 0
        self._token: Token | None = None

    def entries(self, path: str, deep: bool) -> Iterator[Entry]:
        """Read the content; works without ``open``, and sees a half-finished apply while one is running."""
        return self._source.entries(path, deep)

    def open(self, occupied: bool = False) -> bytes:
        """Take the lock unless this object has it, finish an interrupted apply, and return the ledger."""
        with self._own_errors():
            if self._state is None:
                if not occupied and not os.path.lexists(self._root / RESERVED):
                    self._refuse_content()  # before any file is created beside it
                self._state = State(self._root)
            self._state.check()
            ledger = self._settle(self._state)
            if not ledger and not occupied:
                self._refuse_content()
            return ledger

    def apply(self, operations: Iterable[Operation], ledger: bytes, token: Token | None = None) -> None:
        """Stage, write the intent, roll forward. The rename of the intent is the commit."""
        state = self._begin(token)
        stage = Stage(state.stage, self._own_errors)
        try:
            with self._own_errors():
                plan = Plan(state.tree)
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
            # Nothing is committed: free the space at once, the disk may be full.
            stage.close()
            with suppress(OSError):
                state.clear_stage()
            raise
        with self._own_errors():
            if not steps:
                self._write_ledger(state, ledger, token)
            else:
                record = Record(self._serial + 1, 0, ledger, steps, token)
                state.write("intent", record)
                self._carry_out(state, record)
        self._settled = True

    def save(self, ledger: bytes, durable: bool = True, token: Token | None = None, reset: bool = False) -> None:
        """Replace the ledger, or with ``durable=False`` the older of the drafts."""
        state = self._begin(token, reset)
        with self._own_errors():
            if durable or token != self._token:
                self._write_ledger(state, ledger, token)
            else:
                record = Record(self._serial, self._draft + 1, ledger, token=token)
                state.write_draft(record)
                self._draft = record.draft
        self._settled = True

    def close(self) -> None:
        """Release the lock."""
        state, self._state = self._state, None
        if state is not None:
            state.close()

    def _begin(self, token: Token | None, reset: bool = False) -> State:
        """Before a change: finish or undo an earlier one that failed, which may fail as well; then check the token."""
        if self._state is None:
            raise RepositoryUnavailable(f"{self._root} is not open; call open() first")
        with self._own_errors():
            self._state.check()
            if not self._settled:
                self._settle(self._state)
        if not reset:
            Fence(self._token).admit(token)
        self._settled = False
        self._state.tree.forget("/")
        return self._state

    def _settle(self, state: State) -> bytes:
        """Finish a committed apply, clear the rest, and return the ledger that holds."""
        self._settled = False
        # The state read here is acted on, so it must be durable: a crash may have come before its sync.
        state.sync()
        intent = state.read("intent")
        if intent is not None:
            self._carry_out(state, intent)
        state.clear()
        newest = state.read("ledger") or Record(0, 0, b"")
        for draft in state.drafts():
            if draft.serial == newest.serial and draft.draft > newest.draft:
                newest = draft
        self._serial, self._draft, self._token = newest.serial, newest.draft, newest.token
        self._settled = True
        return newest.ledger

    def _carry_out(self, state: State, record: Record) -> None:
        state.tree.forget("/")  # the plan has opened folders that are replaced now
        try:
            roll_forward(state.tree, state.stage, record.steps)
        finally:
            state.tree.forget("/")
        # No sync: if a power failure undoes this rename, the intent is there again and is repeated harmlessly.
        # Any later sync of this folder makes the rename durable first.
        state.rename("intent", "ledger")
        self._serial, self._draft, self._token = record.serial, 0, record.token
        state.clear_stage()

    def _write_ledger(self, state: State, ledger: bytes, token: Token | None) -> None:
        state.write("ledger", Record(self._serial + 1, 0, ledger, token=token))
        self._serial, self._draft, self._token = self._serial + 1, 0, token

    def _refuse_content(self) -> None:
        try:
            with Descent(self._root) as tree:
                names = tree.names("/")
        except FileNotFoundError:
            return
        except PermissionError:
            raise RepositoryUnavailable(
                f"this user may not look into {self._root}, so it is not known what it holds; run: "
                f"chmod u+rwx {self._root}, then try again"
            ) from None
        if names:
            self.close()
            raise refusal(str(self._root), sorted(names))

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
