"""Carries out operations on the tables of a repository in a database, in the caller's transaction."""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext

from callboard.backends.blob_store import CHUNK_BYTES
from callboard.backends.repositories.operation_check import check_content
from callboard.backends.repositories.paths import parent_of, with_parents
from callboard.backends.repository import MISSING_FOLDER_MODE, Delete, Entry, EntryKind, Keep, Operation, Prune, Put


class TableContent(ABC):
    """The operations of one apply. A subclass has the statements of its database.

    Args:
        own_errors: the context of every statement, which explains the database's errors, but not those of content.
    """

    def __init__(self, own_errors: Callable[[], AbstractContextManager[None]] = nullcontext) -> None:
        self._own_errors = own_errors
        self._folders = {"/"}  # known to be there

    def carry_out(self, operation: Operation) -> None:
        """Apply the operation."""
        if isinstance(operation, Put) and operation.entry.kind is EntryKind.FILE:
            self._put_file(operation)
            return
        with self._own_errors():
            match operation:
                case Keep(path, mode):
                    self._make_folder(path, mode)
                case Put(Entry(path, EntryKind.FOLDER, mode)):
                    self._make_folder(path, mode)
                    self._set_mode(path, mode)
                case Put(Entry(path, EntryKind.LINK, target=target)):
                    self._replace(path, EntryKind.LINK, 0o777, target=target)
                case Delete(path):
                    self._remove(path)
                case Prune(path, keep):
                    self._prune(path, keep)

    def _put_file(self, put: Put) -> None:
        entry, digest, size = put.entry, hashlib.sha256(), 0
        with self._own_errors():
            identity = self._replace(entry.path, EntryKind.FILE, entry.mode, size=entry.size)
        for number, chunk in enumerate(_rechunked(entry.open())):
            size += len(chunk)
            if size > entry.size:
                break
            digest.update(chunk)
            with self._own_errors():
                self._write_chunk(identity, number, chunk)
        check_content(put, size, digest.hexdigest())

    def _replace(self, path: str, kind: EntryKind, mode: int, size: int = 0, target: str = "") -> int:
        self._make_folder(parent_of(path), MISSING_FOLDER_MODE)
        self._remove(path)
        return self._insert(path, kind, mode, size, target)

    def _make_folder(self, path: str, mode: int) -> None:
        """Make the path and its parents folders; ``mode`` is for the last one, if it is new."""
        missing = []
        at = path
        while at not in self._folders:
            missing.append(at)
            at = parent_of(at)
        for folder in reversed(missing):
            if self._kind(folder) != EntryKind.FOLDER:
                self._remove(folder)
                self._insert(folder, EntryKind.FOLDER, mode if folder == path else MISSING_FOLDER_MODE)
            self._folders.add(folder)

    def _prune(self, path: str, keep: frozenset[str]) -> None:
        leading = with_parents(keep)
        # Below a removed folder nothing is kept, so all of that is found here as well.
        self._remove_each(
            identity
            for identity, name, kind in self._find_below(path)
            if name not in (leading if kind == EntryKind.FOLDER else keep)
        )
        self._folders = {"/"}

    @abstractmethod
    def _kind(self, path: str) -> int | None:
        """The kind of the entry at the path, if there is one."""

    @abstractmethod
    def _insert(self, path: str, kind: EntryKind, mode: int, size: int = 0, target: str = "") -> int:
        """Add an entry; returns its number."""

    @abstractmethod
    def _set_mode(self, path: str, mode: int) -> None:
        """Set the mode of the entry at the path."""

    @abstractmethod
    def _write_chunk(self, identity: int, number: int, chunk: bytes) -> None:
        """Add a chunk of the entry's content."""

    @abstractmethod
    def _remove(self, path: str) -> None:
        """Remove the entry at the path, unless it is the root, and everything below it."""

    @abstractmethod
    def _find_below(self, path: str) -> Iterable[tuple[int, str, int]]:
        """Number, path and kind of every entry below the path."""

    @abstractmethod
    def _remove_each(self, identities: Iterable[int]) -> None:
        """Remove the entries with these numbers."""


def _rechunked(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """The same bytes in rows of at most ``CHUNK_BYTES``."""
    for chunk in chunks:
        for start in range(0, len(chunk), CHUNK_BYTES):
            yield chunk[start : start + CHUNK_BYTES]
