"""What a log can do for an archive: tell its records' keys, and take records back under their own offsets.

An optional part of the contract, as ``ExaminableLog`` is. A log that gives offsets itself and lets nobody choose, as
Kafka does, can be archived but not restored into.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol, runtime_checkable

from callboard.messages.record import Record

Key = str | bytes
"""The key of a record or, as bytes, its sha-256 where a log keeps only that."""


class Returned(NamedTuple):
    """A record that goes back to where it was."""

    record: Record
    key: Key | None


@runtime_checkable
class Restorable(Protocol):
    """A log that an archive can be restored into. The methods raise as those of ``Log``."""

    async def keys(self, topic: str, start: int, stop: int) -> dict[int, Key]:
        """The keys of the retained records with offsets of at least ``start`` and below ``stop``, by offset."""
        ...

    async def put_back(self, topic: str, records: Sequence[Returned]) -> bool:
        """Write the records under their own offsets and times, all or none; durable as an append is.

        False, and nothing is written, unless all of them are behind every offset that the topic has given out. A digest
        for a key is left out where the log needs the key itself.
        """
        ...

    async def complete(self, topic: str, identity: str, first: int, end: int) -> None:
        """Restored: the topic begins at ``first``, goes on at ``end`` at the earliest, and has this identity.

        An empty identity leaves the topic the one it has.
        """
        ...


def are_behind(records: Sequence[Returned], end: int) -> bool:
    """Whether the records are in order, and behind all offsets below ``end``."""
    return all(before < after.record.offset for before, after in zip(_offsets(records, end), records, strict=False))


def _offsets(records: Sequence[Returned], end: int) -> Iterator[int]:
    yield end - 1
    for record, _ in records:
        yield record.offset
