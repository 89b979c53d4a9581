"""What runs in a process of its own beside a worker: functions of jobs, one at a time.

It gets a job with the name of its function, or None to stop it. It answers with None when the function begins, with
what the job reports, and with how it ends.
"""

import asyncio
import inspect
import os
import pickle
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from contextvars import copy_context
from dataclasses import replace
from functools import cache
from importlib import import_module
from operator import attrgetter
from pathlib import Path
from queue import SimpleQueue

from callboard.actors.runtime.actor_system.leash import die_with_parent
from callboard.board.jobs.functions.handlers import Handler, finished
from callboard.board.jobs.log_context import bind
from callboard.board.jobs.work.ending import Ending, failed, succeeded
from callboard.board.jobs.work.running_job import LATER, RunningJob
from callboard.messages.jobs.job_mail import LeasedJob
from callboard.messages.jobs.progress_messages import JobProgress
from callboard.telemetry.spans import go_on

Call = tuple[str, LeasedJob, str]
"""The function, as ``module:name``, its job, and the ``traceparent`` of the attempt."""
Said = JobProgress | Ending | None

SIZE_BYTES = 4
"""In front of each message to the worker, its size."""

REPORT_S = 0.05
"""Between two reports on a job: the worker passes them on once a second, but watches for jobs that are quiet."""

OOM_SCORE = "500"
"""When memory runs out, the kernel prefers to kill this process to its worker."""


@cache
def handler(function: str) -> Handler:
    """The function, imported. Raises whatever its module does."""
    module, _, name = function.partition(":")
    return Handler(attrgetter(name)(import_module(module)))


class Child:
    """Runs jobs for the worker at the other end of the connection. The functions run in the main thread, as some
    libraries need.
    """

    now_s = staticmethod(time.monotonic)

    def __init__(self, connection: socket.socket) -> None:
        self._connection, self._process_id = connection, os.getpid()
        self._calls: SimpleQueue[tuple[Call, RunningJob]] = SimpleQueue()
        self._saying = threading.Lock()
        self._running: RunningJob | None = None
        self._noted = False

    def serve(self) -> None:
        """Run jobs until the worker has gone."""
        threading.Thread(target=self._hear, daemon=True).start()
        while True:
            call, running = self._calls.get()
            ending = copy_context().run(self._run, *call, running)
            if ending.error is not None:  # of a class that the worker may not know
                ending = replace(ending, error=RuntimeError(ending.message))
            running.over()
            with self._saying:
                self._running = None
                self._say(*self._news(running), ending)

    def _hear(self) -> None:
        with suppress(EOFError, OSError), self._connection.makefile("rb") as calls:
            while True:
                call: Call | None = pickle.load(calls)  # noqa: S301 - of the process that has started this one
                if call is not None:
                    self._running = running = RunningJob.of(call[1], self)
                    self._calls.put((call, running))
                elif (its := self._running) is not None:
                    its.stop()
        os.killpg(0, signal.SIGKILL)  # the worker has gone: so does this process, with all that it has started

    def _run(self, function: str, leased: LeasedJob, trace: str, running: RunningJob) -> Ending:
        try:
            found = handler(function)
            arguments = found.arguments(leased.payload, running)
            bind(running)
            go_on(trace)
        except BaseException as error:  # noqa: BLE001 - the job may be for a worker of another version
            return failed(error, retry_exceptions=True)
        with self._saying:
            self._say(None)
        try:
            value = found.function(*arguments)
            if value is LATER or inspect.isawaitable(value):
                return asyncio.run(finished(value, running))
            return succeeded(value)
        except BaseException as error:  # noqa: BLE001 - anything that a job raises is its outcome
            return failed(error, retry_exceptions=leased.retry_exceptions)

    def note(self, job: RunningJob) -> None:
        """The job has something to report, in any thread: say so soon, with what else it has until then."""
        with self._saying:
            if job is not self._running or self._noted:
                return
            self._noted = True
        timer = threading.Timer(REPORT_S, self._report, (job,))
        timer.daemon = True
        timer.start()

    def _report(self, job: RunningJob) -> None:
        with self._saying:
            if job is self._running:
                self._say(*self._news(job))

    def _news(self, job: RunningJob) -> Iterator[JobProgress]:
        if self._noted:
            self._noted = False
            yield job.report()

    def _say(self, *said: Said) -> None:
        if os.getpid() != self._process_id:
            os._exit(0)  # a copy that the function has forked
        for each in said:
            message = pickle.dumps(each)
            self._connection.sendall(len(message).to_bytes(SIZE_BYTES) + message)


def main() -> None:
    """Serve the worker that has started this process, as the arguments say."""
    worker, connection = map(int, sys.argv[1:3])
    del sys.argv[1:]
    die_with_parent(worker)
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text(OOM_SCORE)
    Child(socket.socket(fileno=connection)).serve()
