"""Content that a repository held before callboard: packages spare it until one brings or deletes exactly that."""

import zlib
from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator, Set

from callboard.backends.repositories.paths import with_parents
from callboard.backends.repository import Delete, Entry, EntryKind, Keep, Operation, Prune, Put
from callboard.errors import Undecodable

MARK = b"\0found 1\n"
"""Marks a stored ledger with such paths. No ledger begins like this, so an older version refuses it."""

LENGTH_BYTES = 8


class Found:
    """The found paths, as packages gradually take them over.

    A package takes a path when it puts an entry there or below it, or deletes that very path. Deleting a folder above,
    or a deep ADD of one, spares the path and the folders that lead to it.
    """

    def __init__(self, paths: Iterable[str] = ()) -> None:
        self._paths = sorted(paths)
        self._packed = b""

    def __len__(self) -> int:
        return len(self._paths)

    def __iter__(self) -> Iterator[str]:
        return iter(self._paths)

    def __contains__(self, path: object) -> bool:
        return isinstance(path, str) and self._paths[(at := bisect_left(self._paths, path)) : at + 1] == [path]

    # With the ledger.

    def wrap(self, ledger: bytes) -> bytes:
        """The ledger preceded by these paths, or the ledger alone if there are none."""
        if not self._paths:
            return ledger
        if not self._packed:
            packed = zlib.compress("\0".join(self._paths).encode(), level=1)
            self._packed = MARK + len(packed).to_bytes(LENGTH_BYTES, "big") + packed
        return self._packed + ledger

    @staticmethod
    def unwrap(stored: bytes) -> "tuple[Found, bytes]":
        """The paths and the ledger. Raises ``Undecodable``."""
        if not stored.startswith(MARK):
            return Found(), stored
        start = len(MARK) + LENGTH_BYTES
        end = start + int.from_bytes(stored[len(MARK) : start], "big")
        try:
            return Found(zlib.decompress(stored[start:end]).decode().split("\0")), stored[end:]
        except (zlib.error, UnicodeDecodeError) as error:
            raise Undecodable(f"the list of entries found in the repository is damaged: {error}") from error

    # With the operations of packages.

    def spare(self, operations: Iterable[Operation]) -> Iterator[Operation]:
        """The operations, changed so that they spare found paths; paths that they take are removed from these."""
        for operation in operations:
            match operation:
                case Delete(path):
                    yield self._delete(path)
                case Prune(path, keep):
                    yield self._prune(path, keep)
                case Keep(path) | Put(Entry(path, EntryKind.FOLDER)):
                    self._change(gone=with_parents([path]))
                    yield operation
                case Put(Entry(path)):
                    self._change(gone={*with_parents([path]), *self._below(path)})
                    yield operation

    def _delete(self, path: str) -> Operation:
        left = self._below(path)
        if not left:
            self._change(gone={path})
            return Delete(path)
        self._change(new=_leading(path, left))
        return Prune(path, frozenset(left))

    def _prune(self, path: str, keep: frozenset[str]) -> Operation:
        left = self._below(path)
        self._change(new=_leading(path, left) - {path} - with_parents(keep))
        return Prune(path, keep.union(left))

    def _below(self, path: str) -> list[str]:
        if path == "/":
            return list(self._paths)
        # Everything below a folder is contiguous in character order: "0" comes after "/".
        return self._paths[bisect_left(self._paths, f"{path}/") : bisect_left(self._paths, f"{path}0")]

    def _change(self, new: Set[str] = frozenset(), gone: Set[str] = frozenset()) -> None:
        for path in gone:
            if path in self:
                del self._paths[bisect_left(self._paths, path)]
                self._packed = b""
        for path in new - {"/"}:
            if path not in self:
                insort(self._paths, path)
                self._packed = b""


def _leading(path: str, left: Iterable[str]) -> set[str]:
    """The folders that lead from ``path`` to the remaining paths below it, and ``path`` itself."""
    inside = "/" if path == "/" else f"{path}/"
    return {path, *(each for each in with_parents(left) if each.startswith(inside))}
