"""Broken repositories."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace

from callboard.backends.fence import Token
from callboard.backends.repository import Delete, Entry, EntryKind, Keep, Operation, Prune, Put
from callboard.errors import BlobDamaged, CallboardError, PackageCorrupt
from callboard.testing.conformance.repository import RepositoryHarness
from callboard.testing.fakes.memory_repository import MemoryRepository, MemoryStore


class ImportsOneByOne(MemoryRepository):
    """Changes the content before it knows that the import succeeds."""

    async def apply(self, operations: Iterable[Operation], ledger: bytes, token: Token | None = None) -> None:
        for operation in operations:
            await super().apply([operation], self.ledger, token)
        await super().apply([], ledger, token)


class MovesOnWithoutTheContent(MemoryRepository):
    """Stores the new position first, and keeps it when the content fails."""

    async def apply(self, operations: Iterable[Operation], ledger: bytes, token: Token | None = None) -> None:
        await self.save(ledger, token=token)
        await super().apply(operations, ledger, token)


class ImportsWithoutMovingOn(MemoryRepository):
    """Stores the content without the new position."""

    async def apply(self, operations: Iterable[Operation], ledger: bytes, token: Token | None = None) -> None:
        await super().apply(operations, self.ledger, token)


class LosesTheOutbox(MemoryRepository):
    """Keeps a ledger that was saved without durability in memory only, with the statuses to send."""

    def __init__(self, store: MemoryStore | None = None) -> None:
        super().__init__(store)
        self._durable = self.store.ledger

    async def apply(self, operations: Iterable[Operation], ledger: bytes, token: Token | None = None) -> None:
        await super().apply(operations, ledger, token)
        self._durable = ledger

    async def save(self, ledger: bytes, durable: bool = True, token: Token | None = None, reset: bool = False) -> None:
        await super().save(ledger, durable, token, reset)
        self._durable = ledger if durable else self._durable

    async def close(self) -> None:
        if self.store.holder is self:
            self.store.ledger = self._durable
        await super().close()


class PrefersADraft(MemoryRepository):
    """Takes an older saved ledger for newer than that of an import."""

    _draft = b""

    async def save(self, ledger: bytes, durable: bool = True, token: Token | None = None, reset: bool = False) -> None:
        await super().save(ledger, durable, token, reset)
        self._draft = b"" if durable else ledger

    async def open(self, occupied: bool = False) -> bytes:
        return self._draft or await super().open(occupied)


class TakesTwoHolders(MemoryRepository):
    """Lets two instances write."""

    async def open(self, occupied: bool = False) -> bytes:
        self.store.crash()
        return await super().open(occupied)


class TakesWhatIsThere(MemoryRepository):
    """Opens content that is not its own."""

    async def open(self, occupied: bool = False) -> bytes:
        return await super().open(occupied=True)


class ClearsWhatIsThere(MemoryRepository):
    """Refuses content without a ledger, but removes it first."""

    async def open(self, occupied: bool = False) -> bytes:
        try:
            return await super().open(occupied)
        except CallboardError:
            if self.store.holder is None:
                self.store.tree = {"/": self.tree["/"]}
            raise


class NeedsNoOpening(MemoryRepository):
    """Accepts changes before it knows what a crash left."""

    def _check_open(self) -> None:
        self.store.holder = self


class SwallowsErrors(MemoryRepository):
    """Claims to have imported what it refused."""

    async def apply(self, operations: Iterable[Operation], ledger: bytes, token: Token | None = None) -> None:
        with suppress(CallboardError):
            await super().apply(operations, ledger, token)


class ForgetsTheToken(MemoryRepository):
    """Keeps the highest token of a leader in memory only."""

    async def open(self, occupied: bool = False) -> bytes:
        self.store.token = None
        return await super().open(occupied)


class TrustsWritersWithoutToken(MemoryRepository):
    """Checks a token only if there is one."""

    async def save(self, ledger: bytes, durable: bool = True, token: Token | None = None, reset: bool = False) -> None:
        await super().save(ledger, durable, token or self.store.token, reset)


class RaisesTheTokenFirst(MemoryRepository):
    """Stores a new token even if the write fails."""

    async def apply(self, operations: Iterable[Operation], ledger: bytes, token: Token | None = None) -> None:
        await self.save(self.ledger, token=token)
        await super().apply(operations, ledger, token)


class TakesADamagedBlobForADamagedPackage(MemoryRepository):
    """Gives a package up, although publishing its content again would repair it."""

    async def apply(self, operations: Iterable[Operation], ledger: bytes, token: Token | None = None) -> None:
        try:
            await super().apply(operations, ledger, token)
        except BlobDamaged as error:
            raise PackageCorrupt(*error.args) from error


class _Operates(MemoryRepository):
    """A hook for bugs in what is applied."""

    def spoil(self, operation: Operation) -> Operation:
        raise AssertionError

    async def apply(self, operations: Iterable[Operation], ledger: bytes, token: Token | None = None) -> None:
        await super().apply(map(self.spoil, operations), ledger, token)


class TrustsTheDigests(_Operates):
    """Imports altered content."""

    def spoil(self, operation: Operation) -> Operation:
        return replace(operation, digest="") if isinstance(operation, Put) else operation


class TrustsTheSizes(_Operates):
    """Stores the announced number of bytes, even if more or fewer came."""

    def spoil(self, operation: Operation) -> Operation:
        if not isinstance(operation, Put) or operation.entry.size == 0:
            return operation
        content = b"".join(operation.entry.open())[: operation.entry.size]
        return Put(replace(operation.entry, size=len(content), open=lambda: iter((content,))))


class ForgetsModes(_Operates):
    """Gives every file the usual mode."""

    def spoil(self, operation: Operation) -> Operation:
        if isinstance(operation, Put) and 0 <= operation.entry.mode <= 0o777:
            return replace(operation, entry=replace(operation.entry, mode=0o644))
        return operation


class DeletesNothing(_Operates):
    """Ignores deletes."""

    def spoil(self, operation: Operation) -> Operation:
        return Keep("/", 0o755) if isinstance(operation, Delete) else operation


class PrunesNothing(_Operates):
    """Ignores prunes."""

    def spoil(self, operation: Operation) -> Operation:
        return Keep("/", 0o755) if isinstance(operation, Prune) else operation


class PrunesWhatIsKept(_Operates):
    """Keeps only the first of what is named."""

    def spoil(self, operation: Operation) -> Operation:
        if isinstance(operation, Prune):
            return replace(operation, keep=frozenset(sorted(operation.keep)[:1]))
        return operation


class ChangesWhatIsKept(_Operates):
    """Sets the mode of a folder that was to be left alone."""

    def spoil(self, operation: Operation) -> Operation:
        if isinstance(operation, Keep):
            return Put(Entry(operation.path, EntryKind.FOLDER, operation.mode))
        return operation


class _Exports(MemoryRepository):
    """A hook for bugs in what is read."""

    def spoil(self, entries: list[Entry]) -> list[Entry]:
        raise AssertionError

    def entries(self, path: str, deep: bool) -> Iterator[Entry]:
        return iter(self.spoil(list(super().entries(path, deep))))


class ExportsBackwards(_Exports):
    """Names children before their parents."""

    def spoil(self, entries: list[Entry]) -> list[Entry]:
        return entries[::-1]


class HidesAnEntry(_Exports):
    """Leaves the last entry out of a long export."""

    def spoil(self, entries: list[Entry]) -> list[Entry]:
        return entries[:-1] if len(entries) > 3 else entries


@contextmanager
def broken_repository(kind: Callable[[MemoryStore], MemoryRepository]) -> Iterator[RepositoryHarness]:
    """A harness for a repository of this kind."""
    store = MemoryStore()
    yield RepositoryHarness(lambda: kind(store))
