"""Appends what the worker says."""

from collections.abc import Iterable
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
    Reply,
    Stopped,
    Stopping,
    Tick,
    note,
)
from callboard.actors.core.effects import Append
from callboard.actors.jobs.worker.settings import WorkerSettings
from callboard.messages.headers import new_record
from callboard.messages.jobs.job_mail import WorkerReport, WorkerReported
from callboard.messages.record import NewRecord

AGAIN = "retry"


class Reporter:
    """Appends reports, all that wait at once, until they are on the log. Repeated ones do no harm.

    Receives: WorkerReport of the service.
    Sends: WorkerReported, when the report is on the log.
    Stores: nothing but the records.
    Timers: "retry", 0.1 to 5 s, while the log fails.
    Gives up: nothing; the service stops to wait when it stops.
    """

    def __init__(self, settings: WorkerSettings, rng: Random) -> None:
        self._settings = settings
        self._rng = rng
        self._waiting: dict[Origin, WorkerReport] = {}
        self._appending: tuple[Origin, ...] = ()
        self._attempt = 0
        self._stopping = False

    def receive(self, message: Input, origin: Origin, now: Moment) -> Iterable[Effect]:
        """Handle one input."""
        match message:
            case WorkerReport():
                self._waiting[origin] = message
                if not self._appending:
                    yield from self._append(now)
            case Done(Append(), offsets):
                self._attempt = 0
                for asker in self._appending:
                    del self._waiting[asker]
                    yield Reply(asker, WorkerReported(offset=offsets[-1]))
                yield from self._append(now)
            case Failed(Append(), error):
                self._attempt += 1
                level = "warning" if self._attempt == 1 else "debug"
                yield note("report.failed", level, attempt=self._attempt, error=str(error))
                yield After(AGAIN, RETRY.delay_s(self._attempt, self._rng))
            case Tick("retry"):
                yield from self._append(now)
            case Stopping():
                self._stopping = True
        if self._stopping and not self._waiting:
            yield Stopped()

    def _append(self, now: Moment) -> Iterable[Effect]:
        self._appending = tuple(self._waiting)
        records = [record for asker in self._appending for record in self._records(self._waiting[asker], now)]
        if records:
            yield Append(self._settings.topic, tuple(records))

    def _records(self, report: WorkerReport, now: Moment) -> Iterable[NewRecord]:
        its = self._settings.instance
        for message in report.messages:
            number = f"{its}/{self._rng.getrandbits(64):016x}"
            yield new_record(message, record_id=number, time_ns=now.wall_ns, producer=its)
