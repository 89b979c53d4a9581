"""A running job, as its function sees it."""

import asyncio
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Protocol

from callboard.board.jobs.job import decoded
from callboard.board.jobs.new_job import encoded
from callboard.board.jobs.work.ending import Ending, failed, printable, succeeded
from callboard.door.rules import shown
from callboard.errors import CancelJob, RequestRefused, RetryJob
from callboard.messages.jobs.job_mail import LeasedJob
from callboard.messages.jobs.limits import LINE_CHARS_MAX, LINES_MAX, MS_MAX, SAVED_BYTES_MAX
from callboard.messages.jobs.progress_messages import JobProgress
from callboard.messages.jobs.ranges import jobs_in

LOCK = threading.Lock()
"""Of all running jobs: most report nothing, and those that do are in any thread."""


class Later(Enum):
    """What a function returns whose job has not ended with it: see ``RunningJob.later``."""

    LATER = "later"


LATER = Later.LATER


class Listener(Protocol):
    """Hears that a job has something to report, in any thread."""

    def note(self, job: "RunningJob") -> None:
        """This job has."""

    def now_s(self) -> float:
        """The time of the event loop."""


@dataclass(slots=True)
class _Said:
    """What a job has reported, and what of it the worker has not yet taken."""

    number: int = 0
    steps: int = 0
    step: int = 0
    eta_ms: int = 0
    lines: list[str] = field(default_factory=list)
    said: int = 0
    saved: bytes = b""
    begun_s: float = 0.0
    at_s: float = 0.0


@dataclass(slots=True, eq=False)
class RunningJob:
    """The job that a function runs, as its second argument, if it takes one. All threads may use it.

    Attributes:
        id: of the job.
        topic: of the job.
        attempt: counts from 1.
        lease: the number of the record that gave the job to this worker.
        after: the jobs that it has waited for: ``board.jobs.get`` has their results.
        context: what was bound in the logs of the code that added it, by the names that its board keeps, and the header
            ``traceparent`` of its span, if it was traced.
        begun_s: when the attempt began, by the clock of the event loop; 0 before.
    """

    id: int
    topic: str
    attempt: int
    lease: int
    after: tuple[int, ...] = ()
    context: Mapping[str, str] = field(default_factory=dict)
    begun_s: float = 0.0
    is_stopping: bool = False
    _saved: bytes = b""
    _listener: Listener | None = None
    _stopping: threading.Event | None = None
    _said: _Said | None = None
    _ending: Ending | None = None
    _waiter: "asyncio.Future[Ending] | None" = None
    _is_over: bool = False

    @classmethod
    def of(cls, leased: LeasedJob, listener: Listener) -> "RunningJob":
        """The job that was leased, which tells the listener."""
        after = jobs_in(leased.after, leased.after_counts) if leased.after else ()
        context = dict(zip(its.names, its.values, strict=True)) if (its := leased.context) else {}
        return cls(
            leased.job, leased.topic, leased.attempt, leased.lease, after, context, _saved=leased.saved,
            _listener=listener,
        )  # fmt: skip

    @property
    def stopping(self) -> threading.Event:
        """Set when the job is to stop. A coroutine is cancelled then; any other function has to look at it."""
        if self._stopping is None:
            self._stopping = threading.Event()  # when it is needed, as it takes longer than all the rest
        if self.is_stopping:
            self._stopping.set()
        return self._stopping

    def stop(self) -> None:
        """Tell it to stop."""
        self.is_stopping = True
        if self._stopping is not None:
            self._stopping.set()

    # Progress: what is reported is on the log within a second or two, or with the end of the attempt.

    def progress(self, steps: int) -> None:
        """Set the number of steps. Only the first call of an attempt counts."""
        with LOCK:
            said = self._heard()
            if not said.steps:
                said.steps, said.begun_s = _count(steps), self._now_s()
        self._note()

    def step(self, n: int = 1) -> None:
        """Add steps that are done, up to all of them; ignored before ``progress``. The expected end follows from the
        mean time of a step.
        """
        with LOCK:
            said = self._heard()
            said.step = min(said.step + _count(n), said.steps)
            if said.step:
                each_s = (self._now_s() - said.begun_s) / said.step
                said.eta_ms = int((time.time() + each_s * (said.steps - said.step)) * 1000)
        self._note()

    def eta(self, seconds: float) -> None:
        """Set the seconds that are left; 0 or less if that is not known."""
        with LOCK:
            self._heard().eta_ms = int((time.time() + min(seconds, MS_MAX / 1000)) * 1000) if seconds > 0 else 0
        self._note()

    def log(self, text: str) -> None:
        """Add a line to the job's log, which keeps the last 100, with 500 characters each."""
        with LOCK:
            said = self._heard()
            said.lines.append(printable(text, LINE_CHARS_MAX))
            said.said += 1
            del said.lines[:-LINES_MAX]
        self._note()

    def save(self, value: object) -> None:
        """Save a value for the next attempt: what JSON can hold, a model, or bytes; 4 KiB at most.

        The log has it within a second or two, and before a retry. Raises ``RequestRefused`` for other values.
        """
        saved = encoded(value)
        if not 0 < len(saved) <= SAVED_BYTES_MAX:
            raise RequestRefused(f"the value has {len(saved)} bytes; save 1 to {SAVED_BYTES_MAX}, or where it is kept")
        with LOCK:
            self._heard().saved = self._saved = saved
        self._note()

    @property
    def saved(self) -> object:
        """What this or a former attempt has saved last; None for nothing."""
        return decoded(self._saved)

    def report(self) -> JobProgress:
        """What the worker reports, with what is new since the last time."""
        with LOCK:
            said = self._said = self._said or _Said()
            said.number += 1
            lines, said.lines = tuple(said.lines), []
            saved, said.saved = said.saved, b""
            return JobProgress(
                job=self.id, lease=self.lease, number=said.number, steps=said.steps, step=said.step,
                eta_ms=said.eta_ms, lines=lines, said=said.said, saved=saved,
            )  # fmt: skip

    def take(self, report: JobProgress) -> None:
        """Report what its function has, which runs in another process."""
        with LOCK:
            said = self._heard()
            said.steps, said.step, said.eta_ms, said.said = report.steps, report.step, report.eta_ms, report.said
            said.lines = [*said.lines, *report.lines][-LINES_MAX:]
            if report.saved:
                said.saved = self._saved = report.saved
        self._note()

    @property
    def heard_s(self) -> float:
        """When it reported something, or began."""
        return max(self._said.at_s if self._said else 0.0, self.begun_s)

    @property
    def is_reported(self) -> bool:
        """Whether the worker has reported it."""
        return self._said is not None and self._said.number > 0

    def _now_s(self) -> float:
        return self._listener.now_s() if self._listener else time.monotonic()

    def _heard(self) -> _Said:
        if self._said is None:
            self._said = _Said()
        self._said.at_s = self._now_s()
        return self._said

    def _note(self) -> None:
        if self._listener is not None:
            self._listener.note(self)

    # Its end, if that comes later.

    def later(self) -> Later:
        """What a function returns whose job ends later: when one of ``succeed``, ``fail`` and ``cancel`` is called. It
        keeps its slot until then.
        """
        return LATER

    def succeed(self, result: object = None) -> None:
        """The job has succeeded, with this result. Raises ``RequestRefused`` if it has ended already."""
        self._settle(succeeded(result))

    def fail(self, error: BaseException | str, delay_s: float | None = None) -> None:
        """The attempt has failed; the next one waits for ``delay_s``, or as its queue says. Raises as ``succeed``."""
        ending = failed(error, retry_exceptions=True) if isinstance(error, BaseException) else None
        if ending is None or delay_s is not None:
            ending = failed(RetryJob(ending.message if ending else str(error), delay_s), retry_exceptions=True)
        self._settle(ending)

    def cancel(self, message: str = "") -> None:
        """The job has ended and is not tried again. Raises as ``succeed``."""
        self._settle(failed(CancelJob(message), retry_exceptions=False))

    def _settle(self, ending: Ending) -> None:
        with LOCK:
            if self._ending is not None or self._is_over:
                raise RequestRefused(f"attempt {self.attempt} of job {self.id} has ended; say so once", code="live")
            self._ending, waiter = ending, self._waiter
        if waiter is not None:
            waiter.get_loop().call_soon_threadsafe(_wake, waiter, ending)

    async def settled(self) -> Ending:
        """Wait until one of these was called."""
        waiter: asyncio.Future[Ending] = asyncio.get_running_loop().create_future()
        with LOCK:
            self._waiter, ending = waiter, self._ending
        return await waiter if ending is None else ending

    def over(self) -> None:
        """The attempt has ended."""
        self._is_over = True


def _wake(waiter: "asyncio.Future[Ending]", ending: Ending) -> None:
    if not waiter.done():
        waiter.set_result(ending)


def _count(steps: int) -> int:
    """A number of steps, within the limits. Raises ``RequestRefused`` for what is no whole number."""
    if not isinstance(steps, int):
        raise RequestRefused(f"{shown(steps)} is no whole number of steps")
    return max(0, min(int(steps), MS_MAX))
