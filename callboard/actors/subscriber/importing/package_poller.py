"""The package poller: fetches packages when the importer asks for them."""

from collections.abc import Iterable, Iterator
from random import Random

from callboard.actors.core.backoff import RETRY
from callboard.actors.core.decision import (
    After,
    Done,
    Effect,
    Failed,
    Input,
    Moment,
    Origin,
    Send,
    Stopped,
    Stopping,
    Tick,
    note,
)
from callboard.actors.core.effects import LogRead, ReadLog
from callboard.actors.subscriber.roles import IMPORTER
from callboard.actors.subscriber.settings import SubscriberSettings
from callboard.errors import CallboardError, LogReplaced, OffsetOutOfRange
from callboard.messages.distribution.mailbox import Obstacle, PackagesRead, PackagesUnavailable, PackagesWanted

WAIT_S = 10.0
"""How long one read waits at the end of the log; the next one follows at once."""

SOON_S = 0.5
"""How long the first one waits there. A gap at the end, such as a package that was trimmed, is noticed that late."""


class PackagePoller:
    """Reads the package topic on demand, so that it never holds more than the importer asked for.

    Receives: PackagesWanted (importer).
    Sends: PackagesRead, PackagesUnavailable (importer).
    Stores: nothing.
    Timers: "again", the back-off after a failed read, 0.1 to 5 s.
    Gives up: never; a position that the log does not have is reported and waits for a new request.
    """

    def __init__(self, settings: SubscriberSettings, rng: Random) -> None:
        self._topic = settings.topics.package
        self._rng = rng
        self._wish: PackagesWanted | None = None
        self._wishes = 0  # requests so far: the number of a request owns its reads
        self._reading: ReadLog | None = None
        self._idle = False  # the last read found nothing, so the next one waits for more
        self._failures = 0

    def receive(self, message: Input, origin: Origin, now: Moment) -> Iterable[Effect]:
        """Handle one input."""
        match message:
            case PackagesWanted():
                self._wish, self._idle, self._wishes = message, False, self._wishes + 1
                yield from self._read()
            case Done(effect=ReadLog() as effect, result=read) if effect == self._reading:
                self._reading = None
                yield from self._found(read)
            case Failed(effect=ReadLog() as effect, error=error) if effect == self._reading:
                self._reading = None
                yield from self._failed(error)
            case Done(effect=ReadLog()) | Failed(effect=ReadLog()):
                pass  # of a request that was replaced
            case Tick() if self._reading is None:
                yield from self._read()
            case Stopping():
                self._wish = None
                yield Stopped()
            case _:
                pass

    def _read(self) -> Iterator[Effect]:
        if self._wish is not None:
            wish, owner = self._wish, f"wish {self._wishes}"
            wait_s = 0.0 if self._failures else WAIT_S if self._idle else SOON_S
            self._reading = ReadLog(self._topic, wish.start, wish.max_records, wish.max_bytes, wait_s, owner=owner)
            yield self._reading

    def _found(self, read: LogRead) -> Iterator[Effect]:
        wish, again, self._failures = self._wish, self._failures > 0, 0
        if wish is None:
            return
        if read.log_id != wish.log_id:
            yield from self._give_back(wish, Obstacle.REPLACED, "the package log was replaced by another one")
        elif read.records or read.next > wish.start or again:  # an empty read is news, too, if the log was unreadable
            self._wish = None
            found = PackagesRead(log_id=read.log_id, start=wish.start, next=read.next, records=read.records)
            yield Send(IMPORTER, found)
        else:
            self._idle = True
            yield from self._read()

    def _give_back(self, wish: PackagesWanted, obstacle: Obstacle, reason: str) -> Iterator[Effect]:
        self._wish = None
        yield self._unavailable(wish, obstacle, reason)

    def _failed(self, error: CallboardError) -> Iterator[Effect]:
        wish = self._wish
        if wish is None:
            return
        if isinstance(error, OffsetOutOfRange | LogReplaced):
            obstacle = Obstacle.REPLACED if isinstance(error, LogReplaced) else Obstacle.OUT_OF_RANGE
            yield from self._give_back(wish, obstacle, str(error))
            return
        self._failures += 1
        if self._failures == 1:
            yield note("log.failed", level="warning", topic=self._topic, reason=str(error))
        yield self._unavailable(wish, Obstacle.UNAVAILABLE, str(error))
        yield After("again", RETRY.delay_s(self._failures, self._rng))

    @staticmethod
    def _unavailable(wish: PackagesWanted, obstacle: Obstacle, reason: str) -> Send:
        return Send(IMPORTER, PackagesUnavailable(start=wish.start, obstacle=obstacle, reason=reason))
