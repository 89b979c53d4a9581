"""The repository of a simulated subscriber, on a disk that loses what is not durable when its host dies."""

from collections.abc import Callable, Iterable
from random import Random
from typing import Protocol

from callboard.actors.subscriber.effects import ImportPackages
from callboard.backends.fence import Token
from callboard.backends.repository import Operation
from callboard.errors import RepositoryUnavailable
from callboard.testing.fakes.memory_repository import MemoryRepository, MemoryStore, Node
from callboard.testing.simulation.engine.fates import deed


class Witness(Protocol):
    """Receives every transaction."""

    def wrote(self, tree: dict[str, Node], ledger: bytes, durable: bool, effect: ImportPackages | None) -> None:
        """The repository now has this content and this ledger, from that import if there was one."""

    def set_back(self, ledger: bytes) -> None:
        """The host has died, and the ledger is this older one again."""


class Disk:
    """What survives a subscriber's processes."""

    def __init__(self, rng: Random) -> None:
        self._rng = rng
        self.store = MemoryStore()
        self.durable = b""

    def crash(self, witness: Witness, *, host: bool) -> None:
        """The process is gone; if its host is, too, what was not durable may be lost."""
        self.store.crash()
        if host and self.store.ledger != self.durable and self._rng.random() < 0.7:
            self.store.ledger = self.durable
            witness.set_back(self.durable)

    def renew(self, ledger: bytes, *, empty: bool) -> None:
        """Store this ledger, and drop the content if it is another disk."""
        self.store.ledger = self.durable = ledger
        if empty:
            self.store.tree = MemoryStore().tree


class SimulatedRepository(MemoryRepository):
    """Meets the fates at every call, and reports every transaction to a witness."""

    def __init__(self, disk: Disk, witness: Callable[[], Witness]) -> None:
        super().__init__(disk.store)
        self._disk = disk
        self._witness = witness
        self.importing: ImportPackages | None = None
        """The running import."""

    async def open(self, occupied: bool = False) -> bytes:
        """See ``Repository.open``."""
        async with deed(RepositoryUnavailable):
            return await super().open(occupied)

    async def apply(self, operations: Iterable[Operation], ledger: bytes, token: Token | None = None) -> None:
        """See ``Repository.apply``."""
        async with deed(RepositoryUnavailable):
            await super().apply(operations, ledger, token)
            self._disk.durable = ledger
            self._witness().wrote(self.tree, ledger, True, self.importing)

    async def save(self, ledger: bytes, durable: bool = True, token: Token | None = None, reset: bool = False) -> None:
        """See ``Repository.save``."""
        async with deed(RepositoryUnavailable):
            await super().save(ledger, durable, token, reset)
            if durable:
                self._disk.durable = ledger
            self._witness().wrote(self.tree, ledger, durable, None)
