"""Runs one job: calls the service's function, and turns what it does into an outcome."""

import asyncio
from collections.abc import Awaitable, Callable
from contextvars import copy_context
from functools import partial

from callboard.board.jobs.functions.handlers import Handler, finished
from callboard.board.jobs.job_spans import attempting, tell
from callboard.board.jobs.log_context import bind
from callboard.board.jobs.work.deadline import Deadline, TooLong
from callboard.board.jobs.work.ending import Ending, failed
from callboard.board.jobs.work.processes import JobProcesses, ProcessEnded
from callboard.board.jobs.work.running_job import RunningJob
from callboard.board.jobs.work.threads import JobThreads
from callboard.messages.jobs.job_mail import LeasedJob
from callboard.messages.jobs.job_messages import Outcome
from callboard.telemetry.spans import Span


async def run(
    handler: Handler, leased: LeasedJob, running: RunningJob, threads: JobThreads, processes: JobProcesses
) -> Ending:
    """Run the job: on the event loop if it is a coroutine, else in one of the threads or processes.

    Raises nothing. A job whose task the worker has cancelled is not its own any more, so what it returns is ignored.
    """
    with attempting(running) as span:
        ending = await _run(handler, leased, running, threads, processes, span)
        tell(span, ending)
        return ending


async def _run(
    handler: Handler, leased: LeasedJob, running: RunningJob, threads: JobThreads, processes: JobProcesses, span: Span
) -> Ending:
    try:
        if handler.reference:
            return await processes.run((handler.reference, leased, span.traceparent), running)
        return await _here(handler, leased, running, threads)
    except (TooLong, ProcessEnded) as error:
        outcome = Outcome.FAILED if leased.retry_exceptions else Outcome.CANCELLED
        return Ending(outcome, str(error), error=error)
    except BaseException as error:  # noqa: BLE001 - anything that a job raises is its outcome
        if isinstance(error, asyncio.CancelledError) and running.is_stopping:
            return Ending(Outcome.CANCELLED, "it was told to stop")
        return failed(error, retry_exceptions=leased.retry_exceptions)
    finally:
        running.over()


async def _here(handler: Handler, leased: LeasedJob, running: RunningJob, threads: JobThreads) -> Ending:
    try:
        arguments = handler.arguments(leased.payload, running)
    except Exception as error:  # noqa: BLE001 - it may be for a worker of another version
        return failed(error, retry_exceptions=True)
    bind(running)
    if handler.is_async:
        work = handler.function(*arguments)
    else:
        call = partial(copy_context().run, _called, handler.function, arguments)
        work = _raised(threads.call(call, running))
    if leased.timeout_ms or leased.quiet_ms:
        async with Deadline(leased, running):
            return await finished(work, running)
    return await finished(work, running)


def _called(function: Callable[..., object], arguments: tuple[object, ...]) -> tuple[object, BaseException | None]:
    """What the function returns or raises. Not raised in the thread, as a future does not take all."""
    try:
        return function(*arguments), None
    except BaseException as error:  # noqa: BLE001 - raised by who waits
        return None, error


async def _raised(work: Awaitable[tuple[object, BaseException | None]]) -> object:
    value, error = await work
    if error is not None:
        raise error
    return value
