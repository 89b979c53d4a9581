"""Runs one job: calls the service's function, and turns what it does into an outcome."""

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Mapping
from contextvars import copy_context
from functools import partial
from inspect import Parameter
from typing import Any

from callboard.actors.jobs.topics import matched
from callboard.board.jobs.job import decoded
from callboard.board.jobs.work.deadline import Deadline, TooLong
from callboard.board.jobs.work.ending import Ending, failed, succeeded
from callboard.board.jobs.work.registry import DefinedJob
from callboard.board.jobs.work.running_job import LATER, RunningJob
from callboard.board.jobs.work.signatures import parameters, payload_model
from callboard.board.jobs.work.threads import JobThreads
from callboard.door.rules import shown
from callboard.errors import ConfigError
from callboard.messages.jobs.job_mail import LeasedJob
from callboard.messages.jobs.job_messages import Outcome
from callboard.messages.jobs.limits import PATTERN


class Handler:
    """A service's function, and what it takes. Raises ``ConfigError`` if that cannot be known."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function = function.function if isinstance(function, DefinedJob) else function
        self.is_async = inspect.iscoroutinefunction(function)
        self.model = payload_model(function)
        kinds = [each.kind for each in parameters(function)]
        self._count = 2 if Parameter.VAR_POSITIONAL in kinds else len(kinds[:2])

    def arguments(self, payload: bytes, running: RunningJob) -> tuple[object, ...]:
        """What the function is called with. Raises ``ValueError`` if the payload does not fit its model."""
        value = decoded(payload) if self.model is None else self.model.model_validate_json(payload)
        return (value, running)[: self._count]


class Handlers:
    """The service's functions, by patterns of topics. Raises ``ConfigError`` for what is no pattern or function."""

    def __init__(self, functions: Mapping[str, Callable[..., Any]]) -> None:
        for pattern, function in functions.items():
            if not isinstance(pattern, str) or not PATTERN.fullmatch(pattern):
                raise ConfigError(f"{shown(pattern)} is no pattern of topics; write 'a/b', 'a/*', 'a/**' or '**'")
            if not callable(function):
                raise ConfigError(f"the job {pattern!r} has {shown(function)}, which is no function")
        self._handlers = {pattern: Handler(function) for pattern, function in functions.items()}
        self._found: dict[str, Handler | None] = {}

    @property
    def patterns(self) -> tuple[str, ...]:
        """The topics that have a function."""
        return tuple(self._handlers)

    def of(self, topic: str) -> Handler | None:
        """The function of the most specific pattern that matches."""
        if topic not in self._found:
            self._found[topic] = self._find(topic)
        return self._found[topic]

    def _find(self, topic: str) -> Handler | None:
        found = [(match.rank, pattern) for pattern in self._handlers if (match := matched(pattern, topic))]
        return self._handlers[max(found)[1]] if found else None


async def run(handler: Handler, leased: LeasedJob, running: RunningJob, threads: JobThreads) -> Ending:
    """Run the job; if it is no coroutine, in one of the threads.

    Raises nothing. A job whose task the worker has cancelled is not its own any more, so what it returns is ignored.
    """
    try:
        try:
            arguments = handler.arguments(leased.payload, running)
        except Exception as error:  # noqa: BLE001 - it may be for a worker of another version
            return failed(error, retry_exceptions=True)
        if handler.is_async:
            work = handler.function(*arguments)
        else:
            call = partial(copy_context().run, _called, handler.function, arguments)
            work = _raised(threads.call(call, running))
        if leased.timeout_ms or leased.quiet_ms:
            async with Deadline(leased, running):
                return await _finished(work, running)
        return await _finished(work, running)
    except TooLong as error:
        outcome = Outcome.FAILED if leased.retry_exceptions else Outcome.CANCELLED
        return Ending(outcome, str(error), error=error)
    except BaseException as error:  # noqa: BLE001 - anything that a job raises is its outcome
        if isinstance(error, asyncio.CancelledError) and running.is_stopping:
            return Ending(Outcome.CANCELLED, "it was told to stop")
        return failed(error, retry_exceptions=leased.retry_exceptions)
    finally:
        running.over()


async def _finished(work: Awaitable[object], running: RunningJob) -> Ending:
    value = await work
    if inspect.isawaitable(value):  # of a function that makes a coroutine and is none, as decorators can be
        value = await value
    return await running.settled() if value is LATER else succeeded(value)


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
