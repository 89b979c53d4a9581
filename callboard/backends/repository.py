"""The repository: where content lives. Publishers export from one, a subscriber imports into one.

Content is a tree of entries named by absolute paths such as ``/blog/2026/a.html``: UTF-8, ``/`` between the
names, no empty name, no ``.`` or ``..``, no NUL. ``/`` is the root, a folder that always exists.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import IntEnum
from typing import Protocol, runtime_checkable

from callboard.backends.fence import Token

MISSING_FOLDER_MODE = 0o755
"""The mode of a folder that no operation names but the path of another entry implies."""


class EntryKind(IntEnum):
    """What an entry is."""

    FOLDER = 0
    FILE = 1
    LINK = 2


@dataclass(frozen=True, slots=True)
class Entry:
    """One node of a tree as a reader sees it.

    ``mode`` holds the nine permission bits. ``size`` and ``open`` (which yields the content in chunks)
    mean something for files, ``target`` for symbolic links.
    """

    path: str
    kind: EntryKind
    mode: int = 0o644
    size: int = 0
    target: str = ""
    open: Callable[[], Iterator[bytes]] = lambda: iter(())


@dataclass(frozen=True, slots=True)
class Keep:
    """A folder that must exist, such as an ancestor: created with ``mode`` if missing, else left as it is.

    A file or link at its path is replaced.
    """

    path: str
    mode: int


@dataclass(frozen=True, slots=True)
class Put:
    """Make the entry exist exactly so, replacing what was at its path; but a folder keeps its children.

    For files, ``digest`` is the sha-256 of the content in hexadecimal, empty if it is not a blob. While writing, the
    repository verifies it and the size, and raises ``BlobDamaged``, or ``PackageCorrupt`` if there is no digest.
    """

    entry: Entry
    digest: str = ""


@dataclass(frozen=True, slots=True)
class Delete:
    """Remove the path, if it exists, and everything below it. Deleting ``/`` empties the root."""

    path: str


@dataclass(frozen=True, slots=True)
class Prune:
    """Remove everything below ``path`` that is not in ``keep`` (absolute paths): a deep ADD is the whole tree.

    Folders that lead to something in ``keep`` are kept as well.
    """

    path: str
    keep: frozenset[str]


Operation = Keep | Put | Delete | Prune


class Source(Protocol):
    """Content that can be read."""

    def entries(self, path: str, deep: bool) -> Iterator[Entry]:
        """The entry at ``path``; with ``deep`` also everything below it, parents first, names sorted.

        Blocking: call it outside the event loop. Raises ``RequestRefused`` for a path that does not exist,
        that leaves the root, or that cannot be read, naming it.
        """


class Repository(Source, Protocol):
    """The contract of a repository. Every method may raise ``RepositoryUnavailable``.

    The ledger is opaque bytes; content and ledger change together or not at all, even if a process dies.

    A leader writes with its ``token``. The repository keeps the highest one, in the transaction of the write that
    brought it, and refuses all other writes as ``Fence.admit`` does: one with a lower token, or without a token once
    there is one, raises ``LeaderReplaced``, and one with a token of another log ``LogReplaced``.
    """

    async def open(self, occupied: bool = False) -> bytes:
        """Take the repository for this process, finish or undo an interrupted apply, and return the ledger.

        May be called again at any time, to learn after an error which ledger holds. Returns empty bytes for a
        repository without a ledger; any content in it is then not callboard's. Such a repository is refused, and left
        as it is, unless the caller declares with ``occupied`` that it can handle the content.

        Raises:
            RepositoryOccupied: it has no ledger but has content; or, even with ``occupied``, it is another program's.
            RepositoryBusy: another instance has it.
            SchemaTooNew: a newer version wrote it.
        """

    async def apply(self, operations: Iterable[Operation], ledger: bytes, token: Token | None = None) -> None:
        """Carry out the operations in order, together with the new ledger, in one transaction.

        ``operations`` is consumed outside the event loop. Any error that it raises undoes everything. After
        ``RepositoryUnavailable`` or a cancellation the outcome is unknown: ``open`` finishes or undoes
        it, and returns the ledger that holds. After any other error, the old ledger and content hold.
        """

    async def save(self, ledger: bytes, durable: bool = True, token: Token | None = None, reset: bool = False) -> None:
        """Store the ledger alone.

        With ``durable=False`` it survives the death of the process but perhaps not a power failure, which
        then brings back an older ledger with the content that belongs to it. The first write with a token is always
        durable.

        With ``reset``, nothing is refused and ``token`` replaces the highest one: after the log was replaced, or, if it
        is None, to write without a leader again.
        """

    async def close(self) -> None:
        """Release the repository; idempotent."""


@runtime_checkable
class Attempting(Protocol):
    """An optional method of a repository, for those where two calls cost more than one."""

    async def attempt(
        self, before: bytes, operations: Iterable[Operation], ledger: bytes, token: Token | None = None
    ) -> None:
        """The same as ``save(before, durable=False)`` and then ``apply(operations, ledger)``, in two transactions, both
        with the token.
        """
