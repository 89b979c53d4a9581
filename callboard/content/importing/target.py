"""The repository that a subscriber imports into, and how it treats content that predates the first import."""

import asyncio
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Literal, get_args

from callboard.backends.fence import Token
from callboard.backends.repository import Attempting, Delete, Entry, Operation, Repository
from callboard.content.importing.found import Found
from callboard.errors import RepositoryOccupied, RepositoryUnavailable, RequestRefused, Undecodable

OnOccupied = Literal["refuse", "adopt", "replace"]
ON_OCCUPIED: tuple[OnOccupied, ...] = get_args(OnOccupied)

FOUND_MAX = 100_000
"""The most entries that can be adopted: their list is stored with every import, some ten bytes for each."""


class Target:
    """A wrapper of any ``Repository``, which handles content that has no ledger.

    ``refuse`` raises ``RepositoryOccupied``. ``replace`` removes the content when the repository is opened. ``adopt``
    keeps it: operations that remove or replace a tree spare such an entry, and it is not listed as content, until a
    package puts an entry at its path or below it, or deletes exactly that path. The list of remaining entries is stored
    in front of the ledger, and so changes in one transaction with the content.
    """

    def __init__(self, repository: Repository, on_occupied: OnOccupied = "refuse") -> None:
        self._repository = repository
        self._on_occupied = on_occupied
        self._found = Found()

    def entries(self, path: str, deep: bool) -> Iterator[Entry]:
        """See ``Source.entries``; without found content."""
        for entry in self._repository.entries(path, deep):
            if entry.path not in self._found:
                yield entry

    async def open(self, occupied: bool = False) -> bytes:
        """See ``Repository.open``."""
        stored = await self._repository.open(occupied or self._on_occupied != "refuse")
        try:
            self._found, ledger = Found.unwrap(stored)
        except Undecodable as error:
            raise RepositoryUnavailable(f"{error}; restore the repository from a backup, or choose another") from error
        if not stored and self._on_occupied == "replace":
            await self._repository.apply([Delete("/")], b"")
        elif not stored and self._on_occupied == "adopt":
            self._found = Found(await asyncio.to_thread(self._list))
        return ledger

    async def apply(self, operations: Iterable[Operation], ledger: bytes, token: Token | None = None) -> None:
        """See ``Repository.apply``."""
        left, operations = await self._spared(operations)
        await self._repository.apply(operations, left.wrap(ledger), token)
        self._found = left

    async def attempt(
        self, before: bytes, operations: Iterable[Operation], ledger: bytes, token: Token | None = None
    ) -> None:
        """See ``Attempting``."""
        left, operations = await self._spared(operations)
        if isinstance(self._repository, Attempting):
            await self._repository.attempt(self._found.wrap(before), operations, left.wrap(ledger), token)
        else:
            await self._repository.save(self._found.wrap(before), durable=False, token=token)
            await self._repository.apply(operations, left.wrap(ledger), token)
        self._found = left

    async def save(self, ledger: bytes, durable: bool = True, token: Token | None = None, reset: bool = False) -> None:
        """See ``Repository.save``."""
        await self._repository.save(self._found.wrap(ledger), durable, token, reset)

    async def close(self) -> None:
        """See ``Repository.close``."""
        await self._repository.close()

    async def _spared(self, operations: Iterable[Operation]) -> tuple[Found, Iterable[Operation]]:
        """The found paths that remain after the operations, and the operations that spare them."""
        if not self._found:
            return self._found, operations
        left = Found(self._found)
        return left, await asyncio.to_thread(lambda: list(left.spare(operations)))

    def _list(self) -> list[str]:
        try:
            entries = self._repository.entries("/", deep=True)
            paths = [entry.path for entry in islice(entries, FOUND_MAX + 2) if entry.path != "/"]
        except RequestRefused as error:
            raise RepositoryOccupied(f"the content of the repository cannot be adopted: {error}") from error
        if len(paths) > FOUND_MAX:
            raise RepositoryOccupied(
                f"the repository holds more than {FOUND_MAX} entries, too many to adopt; choose an empty one, or move "
                "some of them away"
            )
        return paths
