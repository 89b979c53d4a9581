"""The status sender: moves the statuses, and the results of commands, from the ledger to the status topic."""

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
from callboard.actors.core.effects import Append
from callboard.actors.core.shortening import Shortening
from callboard.actors.subscriber.roles import IMPORTER
from callboard.actors.subscriber.settings import SubscriberSettings
from callboard.messages.bounds import fitted
from callboard.messages.distribution.mailbox import StatusesPending, StatusesSent
from callboard.messages.distribution.topic_messages import CommandResultMessage, PackageStatusMessage
from callboard.messages.headers import new_record
from callboard.messages.record import NewRecord

Line = PackageStatusMessage | CommandResultMessage

BATCH_MAX = 200
"""Statuses in one append."""
BATCH_BYTES = 600_000
"""Bytes of statuses in one append; the smallest log takes 1 MB at once."""
GOODBYE = "goodbye"
GOODBYE_S = 3.0
"""How long it waits at a stop for the importer's last statuses."""
RESTED = "rested"
REST_S = 0.1
"""Between two appends, unless there is a full batch: while packages come in quick succession their statuses go
together. A single status does not wait."""


class StatusSender:
    """Appends pending statuses in batches, at least once; the key makes a repeated one harmless where logs know keys.

    Receives: StatusesPending (importer).
    Sends: StatusesSent (importer).
    Stores: statuses and results on the status topic; until then they are in the ledger's outbox. It also keeps
        the topics that subscribers write from filling the log, see ``Shortening``.
    Timers: "again", the back-off after a failed append, 0.1 to 5 s; "rested", 0.1 s, when there is more soon after one
        that succeeded; "goodbye", 3 s; "shorten", 5 to 10 min.
    Gives up: never, but a log that fails does not hold up a stop; imports wait once the outbox is full.
    """

    def __init__(self, settings: SubscriberSettings, rng: Random) -> None:
        self._settings = settings
        self._rng = rng
        self._pending: tuple[Line, ...] = ()
        self._appending: tuple[Line, ...] = ()
        self._failures = 0
        self._rested_s = 0.0  # earliest time of the next append
        self._shortening = Shortening(settings.topics, settings.shortening, rng)
        self._stopping = False
        self._last = False  # nothing will follow

    def receive(self, message: Input, origin: Origin, now: Moment) -> Iterable[Effect]:
        """Handle one input."""
        yield from self._shortening.handle(message, now)
        match message:
            case StatusesPending():
                lines: tuple[Line, ...] = (*message.statuses, *message.results)
                self._pending, self._last = tuple(sorted(lines, key=lambda line: line.sequence)), message.last
                yield from self._append(now)
            case Done(effect=Append()):
                sent, self._appending, self._failures = self._appending[-1].sequence, (), 0
                self._pending = tuple(line for line in self._pending if line.sequence > sent)
                yield Send(IMPORTER, StatusesSent(sequence=sent))
                self._rested_s = now.mono_s + REST_S
                yield from self._append(now)
            case Failed(effect=Append(), error=error):
                self._appending = ()
                self._failures += 1
                if self._failures == 1:
                    yield note("status.failed", level="warning", reason=str(error))
                yield After("again", RETRY.delay_s(self._failures, self._rng))
            case Tick(key):
                self._last = self._last or key == GOODBYE
                self._rested_s = 0.0 if key == RESTED else self._rested_s
                yield from self._append(now)
            case Stopping():
                self._stopping = True
                yield After(GOODBYE, GOODBYE_S)
                yield from self._append(now)
            case _:
                pass
        if self._stopping and not self._appending and (self._failures or (self._last and not self._pending)):
            yield Stopped()

    def _append(self, now: Moment) -> Iterator[Effect]:
        if self._appending or not self._pending:
            return
        if now.mono_s < self._rested_s and len(self._pending) < BATCH_MAX and not self._stopping:
            yield After(RESTED, self._rested_s - now.mono_s)
            return
        records, size = list[NewRecord](), 0
        for line in self._pending[:BATCH_MAX]:
            fit = fitted(line)
            record = _record(fit, now)
            size += record.nbytes
            if records and size > BATCH_BYTES:
                break
            if fit is not line:
                yield note("status.clipped", "warning", sequence=line.sequence, bytes=record.nbytes)
            records.append(record)
        self._appending = self._pending[: len(records)]
        yield Append(self._settings.topics.status, tuple(records))


def _record(line: Line, now: Moment) -> NewRecord:
    return new_record(
        line,
        record_id=(key := f"{line.subscriber_instance}/{line.sequence}"),
        key=key,
        time_ns=now.wall_ns,
        producer=f"{line.subscriber}/{line.subscriber_instance}",
        cause=line.package_id if isinstance(line, PackageStatusMessage) else line.command_id,
        publisher=line.publisher if isinstance(line, PackageStatusMessage) else "",
    )
