"""What an archive needs of a log: its records' keys, and restoring records under their own offsets.

An optional part of the contract, like ``ExaminableLog``. A log that always assigns offsets itself, such as Kafka, can
be archived but not restored into.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol, runtime_checkable

from callboard.messages.record import Record

Key = str | bytes
"""The key of a record or, as bytes, its sha-256 where a log stores only that."""


class Returned(NamedTuple):
    """A record to restore, with its key."""

    record: Record
    key: Key | None


@runtime_checkable
class Restorable(Protocol):
    """A log that an archive can be restored into. The methods raise the same as those of ``Log``."""

    async def keys(self, topic: str, start: int, stop: int) -> dict[int, Key]:
        """The keys of the retained records with offsets in ``[start, stop)``, by offset."""

    async def put_back(self, topic: str, records: Sequence[Returned]) -> bool:
        """Write the records under their own offsets and times, all or none; as durable as an append.

        Returns False, and writes nothing, unless all of them are above every offset that the topic has assigned. A
        digest is omitted where the log needs the key itself.
        """

    async def complete(self, topic: str, identity: str, first: int, end: int) -> None:
        """Finish a restoration: the topic begins at ``first``, continues at ``end`` or later, and has this identity.

        If ``identity`` is empty, the topic keeps its own.
        """


def are_behind(records: Sequence[Returned], end: int) -> bool:
    """Whether the records are in order, and none is below ``end``."""
    return all(before < after.record.offset for before, after in zip(_offsets(records, end), records, strict=False))


def _offsets(records: Sequence[Returned], end: int) -> Iterator[int]:
    yield end - 1
    for record, _ in records:
        yield record.offset
