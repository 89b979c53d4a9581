"""A repository in memory: no thread, no disk, calls complete at once. For tests and the simulator."""

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial

from callboard.backends.fence import Fence, Token
from callboard.backends.repositories.occupation import refuse_content
from callboard.backends.repositories.operation_check import check_content, check_operation
from callboard.backends.repositories.paths import check_path, parent_of, with_parents
from callboard.backends.repository import MISSING_FOLDER_MODE, Delete, Entry, EntryKind, Keep, Operation, Prune, Put
from callboard.errors import RepositoryBusy, RepositoryUnavailable, RequestRefused


@dataclass(frozen=True, slots=True)
class Node:
    """What is at a path."""

    kind: EntryKind
    mode: int
    content: bytes = b""
    target: str = ""


@dataclass(slots=True)
class MemoryStore:
    """What survives a repository's process: the content by path, the ledger, the highest token of a leader, and who
    has it open.
    """

    tree: dict[str, Node] = field(default_factory=lambda: {"/": Node(EntryKind.FOLDER, 0o755)})
    ledger: bytes = b""
    token: Token | None = None
    holder: "MemoryRepository | None" = None

    def crash(self) -> None:
        """Drop the lock, as when the process that holds it dies."""
        self.holder = None


class MemoryRepository:
    """See ``callboard.backends.repository.Repository``.

    Args:
        store: share it between instances to model a restart, or a second instance that is refused.
    """

    def __init__(self, store: MemoryStore | None = None) -> None:
        self.store = store or MemoryStore()

    @property
    def tree(self) -> dict[str, Node]:
        """The content by path, as of the last apply."""
        return self.store.tree

    @property
    def ledger(self) -> bytes:
        """The ledger as last written."""
        return self.store.ledger

    def entries(self, path: str, deep: bool) -> Iterator[Entry]:
        """See ``Source.entries``."""
        check_path(path)
        if path not in self.tree:
            raise RequestRefused(f"{path} does not exist; correct the path", code="not_found")
        found = [name for name in self.tree if name == path or (deep and _is_below(name, path))]
        for name in sorted(found, key=lambda name: name.split("/")):
            node = self.tree[name]
            content = partial(iter, (node.content,))
            yield Entry(name, node.kind, node.mode, len(node.content), node.target, content)

    async def open(self, occupied: bool = False) -> bytes:
        """See ``Repository.open``."""
        if self.store.holder not in {None, self}:
            raise RepositoryBusy("this memory is open in another repository; close that one or let it crash")
        if not self.store.ledger and not occupied:
            refuse_content("this memory", self)
        self.store.holder = self
        return self.store.ledger

    async def apply(self, operations: Iterable[Operation], ledger: bytes, token: Token | None = None) -> None:
        """See ``Repository.apply``."""
        self._check_open()
        Fence(self.store.token).admit(token)
        tree = dict(self.tree)
        for operation in operations:
            check_operation(operation)
            _carry_out(tree, operation)
        self.store.tree, self.store.ledger, self.store.token = tree, ledger, token

    async def save(
        self,
        ledger: bytes,
        durable: bool = True,  # noqa: ARG002 - nothing here is durable
        token: Token | None = None,
        reset: bool = False,
    ) -> None:
        """See ``Repository.save``."""
        self._check_open()
        if not reset:
            Fence(self.store.token).admit(token)
        self.store.ledger, self.store.token = ledger, token

    async def close(self) -> None:
        """See ``Repository.close``."""
        if self.store.holder is self:
            self.store.holder = None

    def _check_open(self) -> None:
        if self.store.holder is not self:
            raise RepositoryUnavailable("the repository is not open; call open() first")


def _carry_out(tree: dict[str, Node], operation: Operation) -> None:
    match operation:
        case Keep(path, mode):
            _make_folder(tree, path, mode)
        case Put(Entry(path, EntryKind.FOLDER, mode)):
            _make_folder(tree, path, mode)
            tree[path] = replace(tree[path], mode=mode)
        case Put(entry):
            content = _content(operation) if entry.kind is EntryKind.FILE else b""
            mode = entry.mode if entry.kind is EntryKind.FILE else 0o777
            _make_folder(tree, parent_of(entry.path), MISSING_FOLDER_MODE)
            _remove(tree, entry.path)
            tree[entry.path] = Node(entry.kind, mode, content, entry.target)
        case Delete(path):
            _remove(tree, path)
        case Prune(path, keep):
            leading = with_parents(keep)
            for name, node in list(tree.items()):
                if _is_below(name, path) and name not in (leading if node.kind is EntryKind.FOLDER else keep):
                    del tree[name]


def _make_folder(tree: dict[str, Node], path: str, mode: int) -> None:
    for folder in sorted(with_parents([path]), key=len):
        if folder not in tree or tree[folder].kind is not EntryKind.FOLDER:
            tree[folder] = Node(EntryKind.FOLDER, mode if folder == path else MISSING_FOLDER_MODE)


def _remove(tree: dict[str, Node], path: str) -> None:
    for name in [name for name in tree if _is_below(name, path)]:
        del tree[name]
    if path != "/":
        tree.pop(path, None)


def _is_below(name: str, path: str) -> bool:
    return name != "/" if path == "/" else name.startswith(f"{path}/")


def _content(put: Put) -> bytes:
    content = b"".join(put.entry.open())
    check_content(put, len(content), hashlib.sha256(content).hexdigest() if put.digest else "")
    return content
