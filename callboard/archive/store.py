"""Where the files of an archive are stored. They are never changed: the first writer of a name decides its content."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import NamedTuple, Protocol


class Stored(NamedTuple):
    """A file of the archive; ``stored_ns`` is when it was written, by the store's clock."""

    name: str
    length: int
    stored_ns: int


class ArchiveStore(Protocol):
    """A folder or a bucket. Every method may raise ``BlobUnavailable``; the same call may then be tried again."""

    @property
    def place(self) -> str:
        """Its location, for people."""

    async def put_new(self, name: str, content: Path | bytes) -> bool:
        """Create a file, complete and durable or not at all; False if the name exists.

        Raises ``ConfigError`` if the store cannot decide that: a later writer would overwrite an earlier one.
        """

    async def get(self, name: str) -> bytes:
        """The content of a small file. Raises ``BlobMissing``."""

    async def fetch(self, name: str, spool: Path) -> Path:
        """The content of a large file as a local one: in the caller's folder ``spool``, or the store's own.

        Raises ``BlobMissing``.
        """

    def list(self, prefix: str, start: str = "") -> AsyncIterator[Stored]:
        """The files whose names begin with the prefix, sorted by name, from the name ``start`` on."""

    async def delete(self, name: str) -> None:
        """Remove a file if it exists."""

    async def close(self) -> None:
        """Release everything; idempotent."""
