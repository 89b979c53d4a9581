"""The log: the only thing that agents share.

A log holds topics; a topic is a sequence of records with strictly increasing offsets. Gaps between offsets are legal,
so never count records by subtracting offsets, nor infer a loss from a gap. Offsets have a meaning only together with
the topic's identity.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Flag, auto
from typing import NamedTuple, Protocol

from callboard.errors import LogReplaced
from callboard.messages.record import NewRecord, Record

READ_RECORDS_MAX = 1000
READ_BYTES_MAX = 4 << 20
AHEAD_NS = 3600 * 10**9
"""How far an appender's clock may be ahead. A record dated later says nothing about when it was appended."""

RECORD_BYTES_MAX = 2 << 20
"""Every log accepts records (payload and headers) of at least 1 MB; the built-in ones refuse larger ones than this."""


class Capability(Flag):
    """What a log supports beyond the contract. The conformance suite tests each one, present or absent."""

    NONE = 0
    DURABLE = auto()
    """Survives the death of every process."""
    SHARED = auto()
    """Several processes may open it at once."""
    KEYS = auto()
    """Appends with a key are idempotent while the first record is retained. Without it, keys have no effect, and
    readers detect a repeated record by the id in its headers."""
    TRIM = auto()
    """``trim`` removes records; without it, retention is up to the server."""
    TRIM_BYTES = auto()
    """``trim`` knows the size of records, and supports ``above_bytes``."""


class Bounds(NamedTuple):
    """The retained range ``[first, end)``: ``end`` is stable, no record will appear below it any more.

    An empty topic has ``first == end``.
    """

    first: int
    end: int


@dataclass(frozen=True, slots=True)
class Retention:
    """What may be removed: a record that any of the given limits allows to go, but none from ``keep_from`` on. With
    ``log_id``, the offsets are of this incarnation of the topic, and nothing is removed from another one.

    A record's age comes from its time. A record dated more than ``AHEAD_NS`` ahead has no known age: it is removed with
    the next later record that is too old, so it neither blocks later records nor is removed while possibly young.
    """

    below_offset: int | None = None
    older_than_s: float | None = None
    above_bytes: int | None = None
    keep_from: int | None = None
    log_id: str = ""

    def is_of(self, log_id: str) -> bool:
        """Whether this incarnation of the topic may be trimmed."""
        return self.log_id in ("", log_id)

    def check(self, topic: str, log_id: str) -> None:
        """Raise ``LogReplaced`` unless this incarnation of the topic may be trimmed."""
        if not self.is_of(log_id):
            raise LogReplaced(f"topic {topic!r} was replaced meanwhile; nothing was removed from the new one")

    def too_old(self, time_ns: int, now_ns: int) -> bool | None:
        """Whether a record with this time is older than the limit; None if its age is unknown."""
        if self.older_than_s is None:
            return False
        if time_ns > now_ns + AHEAD_NS:
            return None
        return time_ns < now_ns - int(self.older_than_s * 1e9)


class Log(Protocol):
    """The contract of a log. Implementations are in ``logs/``; ``callboard.testing.conformance`` verifies them.

    A log may also report its health to ``callboard doctor``: see ``ExaminableLog`` in ``examination.py``.

    Every method may raise ``LogUnavailable``, after which the same call may be tried again, and
    ``TopicMissing`` for a topic that was never ensured.
    """

    @property
    def capabilities(self) -> Capability:
        """The optional features that this log declares."""

    async def ensure(self, topic: str) -> None:
        """Create the topic unless it exists. Names match ``[a-z0-9][a-z0-9._-]{0,80}``."""

    async def append(self, topic: str, records: Sequence[NewRecord]) -> list[int]:
        """Write the records, all or none, and return their offsets once they are as durable as the log gets.

        Raises ``RecordTooLarge`` before anything is written. After ``LogUnavailable`` or a cancellation
        the outcome is unknown: append again with the same keys.
        """

    async def read(
        self,
        topic: str,
        start: int,
        max_records: int = READ_RECORDS_MAX,
        max_bytes: int = READ_BYTES_MAX,
    ) -> list[Record]:
        """The records with an offset of at least ``start``, oldest first; empty at the end of the log.

        Returns at least one record if there is one, however large, but perhaps not all of them: to get all, read again
        after the last one until nothing comes. Raises ``OffsetOutOfRange`` when ``start`` is below ``first`` or above
        ``end``.
        """

    async def wait(self, topic: str, start: int, timeout_s: float) -> bool:
        """Wait until a record with an offset of at least ``start`` can be read; False after the timeout."""

    async def bounds(self, topic: str) -> Bounds:
        """The retained range. A trimmed topic keeps its end: no offset is assigned twice."""

    async def trim(self, topic: str, retention: Retention) -> int:
        """Remove the oldest records that the retention allows, and return the new ``first``.

        Raises ``NotSupported`` without ``Capability.TRIM``, and for ``above_bytes`` without ``TRIM_BYTES``;
        ``LogReplaced`` if the topic is not the incarnation that the retention names.
        """

    async def identity(self, topic: str) -> str:
        """A random name of this incarnation of the topic; it changes when the topic is replaced or re-created."""

    async def close(self) -> None:
        """Release everything; idempotent. Pending appends are completed, waits return False."""
