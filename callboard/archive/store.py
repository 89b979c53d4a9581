"""Where the files of an archive are. They are never changed: the first who writes a name decides what it is."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import NamedTuple, Protocol


class Stored(NamedTuple):
    """A file of the archive; ``stored_ns`` is when it was written, by the clock of the store."""

    name: str
    length: int
    stored_ns: int


class ArchiveStore(Protocol):
    """A folder or a bucket. Every method may raise ``BlobUnavailable``, after which it may be called again."""

    @property
    def place(self) -> str:
        """Where it is, for people."""
        ...

    async def put_new(self, name: str, content: Path | bytes) -> bool:
        """Create a file, durable and complete or not at all; False if there is one of this name.

        Raises ``ConfigError`` where that cannot be decided: a later writer would overwrite what an earlier one wrote.
        """
        ...

    async def get(self, name: str) -> bytes:
        """The content of a small file. Raises ``BlobMissing``."""
        ...

    async def fetch(self, name: str, spool: Path) -> Path:
        """The content of a large file as a local one: in the folder ``spool`` of the caller, or the store's own.

        Raises ``BlobMissing``.
        """
        ...

    def list(self, prefix: str, start: str = "") -> AsyncIterator[Stored]:
        """The files whose names begin with the prefix, in the order of names, from the name ``start`` on."""
        ...

    async def delete(self, name: str) -> None:
        """Remove a file, if there is one."""
        ...

    async def close(self) -> None:
        """Release everything; idempotent."""
        ...
