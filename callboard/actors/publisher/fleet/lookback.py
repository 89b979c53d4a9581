"""Reads what lies before a follower's start, the newest first, while the follower continues."""

from dataclasses import dataclass, field
from random import Random

from callboard.actors.core.backoff import RETRY
from callboard.actors.core.decision import After, Done, Effect, Failed, Input, Tick
from callboard.actors.core.effects import LogRead, ReadLog
from callboard.errors import OffsetOutOfRange
from callboard.messages.record import Record
from callboard.messages.repeated import HEADER

PIECE = 20_000
"""Offsets in a piece: pieces are read from last to first, each in its order."""


@dataclass(slots=True)
class Lookback:
    """Reads ``[first, stop)`` of one topic in pieces from last to first, and each piece in its order.

    The owner passes its inputs to ``handle``. Of all records of ``type`` with the same header ``producer`` only the
    last of a piece is returned, and no other decoded: that makes it fast.
    """

    OWNER = "lookback"

    topic: str
    type: str
    rng: Random
    unread: int = 0
    """Offsets not yet returned."""
    _log_id: str = ""
    _first: int = 0
    _stop: int = 0  # everything from here on was returned
    _next: int = 0
    _last: dict[str | int, Record] = field(default_factory=dict)
    _pending: ReadLog | None = None
    _attempt: int = 0

    def start(self, log_id: str, first: int, stop: int) -> tuple[Effect, ...]:
        """The effects that begin it, or restart it."""
        self._log_id, self._first, self._stop, self._pending = log_id, first, stop, None
        return self._begin_piece()

    def handle(self, message: Input) -> tuple[list[Record], tuple[Effect, ...]]:
        """Handle an input: the records found, the newest first, and the effects that continue."""
        match message:
            case Done(effect, LogRead() as read) if effect == self._pending:
                self._attempt = 0
                return self._advance(read) if read.log_id == self._log_id else ([], self._end())
            case Failed(effect, OffsetOutOfRange() as error) if effect == self._pending:
                if error.first <= self._next:
                    return [], self._end()  # past the end: the log was replaced
                self._first = error.first
                return [], self._begin_piece()
            case Failed(effect, _) if effect == self._pending:
                self._attempt += 1
                return [], (After(self.OWNER, RETRY.delay_s(self._attempt, self.rng)),)
            case Tick(self.OWNER) if self._pending is not None:
                return [], (self._pending,)
        return [], ()

    def _begin_piece(self) -> tuple[Effect, ...]:
        self.unread = max(self._stop - self._first, 0)
        if not self.unread:
            return self._end()
        self._last.clear()
        self._next = max(self._first, self._stop - PIECE)
        return (self._read(),)

    def _end(self) -> tuple[Effect, ...]:
        self.unread, self._pending = 0, None
        return ()

    def _read(self) -> ReadLog:
        self._pending = ReadLog(self.topic, self._next, max_records=1000, owner=self.OWNER)
        return self._pending

    def _advance(self, read: LogRead) -> tuple[list[Record], tuple[Effect, ...]]:
        for record in read.records:
            if record.offset < self._stop:
                headers = dict(record.headers)
                alone = headers.get("type") != self.type or HEADER in headers  # a repeated one may be older
                producer = None if alone else headers.get("producer")
                self._last[producer or record.offset] = record
        if read.records and read.next < self._stop:
            self._next = read.next
            return [], (self._read(),)
        lasts = sorted(self._last.values(), key=lambda record: -record.offset)
        self._stop = max(self._first, self._stop - PIECE)
        return lasts, self._begin_piece()
