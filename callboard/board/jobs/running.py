"""Runs one job: calls the service's function, and turns what it does into an outcome."""

import asyncio
import inspect
import math
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from contextvars import copy_context
from dataclasses import dataclass, field
from functools import partial
from inspect import Parameter
from typing import Any

from callboard.actors.jobs.topics import matched
from callboard.board.jobs.job import decoded
from callboard.board.jobs.new_job import encoded
from callboard.board.jobs.registry import DefinedJob
from callboard.board.jobs.signatures import parameters, payload_model
from callboard.errors import CallboardError, CancelJob, ConfigError, RequestRefused, RetryJob
from callboard.messages.jobs.job_mail import LeasedJob
from callboard.messages.jobs.job_messages import JobEnd, Outcome
from callboard.messages.jobs.limits import MS_MAX, PATTERN, RESULT_BYTES_MAX

TEXT_MAX = 2000
"""Characters of a message that are kept."""


@dataclass(slots=True)
class RunningJob:
    """The job that a function runs, as its second argument, if it takes one.

    Attributes:
        id: of the job.
        topic: of the job.
        attempt: counts from 1.
        lease: the offset of the record that gave the job to this worker.
        stopping: set when the job is to stop. A coroutine is cancelled then; any other function has to look at it.
    """

    id: int
    topic: str
    attempt: int
    lease: int
    stopping: threading.Event = field(default_factory=threading.Event)


@dataclass(frozen=True, slots=True)
class Ending:
    """How an attempt ended."""

    outcome: Outcome
    message: str = ""
    result: bytes = b""
    retry_ms: int = -1

    def at(self, place: int) -> JobEnd | None:
        """What there is to say besides the outcome."""
        if self.message or self.result or self.retry_ms >= 0:
            return JobEnd(job=place, message=self.message, result=self.result, retry_ms=self.retry_ms)
        return None


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
            if not PATTERN.fullmatch(pattern):
                raise ConfigError(f"{pattern!r:.80} is no pattern of topics; write 'a/b', 'a/*', 'a/**' or '**'")
            if not callable(function):
                raise ConfigError(f"the job {pattern!r} has {function!r:.80}, which is no function")
        self._handlers = {pattern: Handler(function) for pattern, function in functions.items()}

    @property
    def patterns(self) -> tuple[str, ...]:
        """The topics that have a function."""
        return tuple(self._handlers)

    def of(self, topic: str) -> Handler | None:
        """The function of the most specific pattern that matches."""
        found = [(match.rank, pattern) for pattern in self._handlers if (match := matched(pattern, topic))]
        return self._handlers[max(found)[1]] if found else None


async def run(handler: Handler, leased: LeasedJob, running: RunningJob, threads: Executor) -> Ending:
    """Run the job; if it is no coroutine, in one of the threads.

    Raises nothing, unless its task is cancelled for another reason than that the job is to stop.
    """
    try:
        arguments = handler.arguments(leased.payload, running)
        async with asyncio.timeout(leased.timeout_ms / 1000 or None):
            if handler.is_async:
                value = await handler.function(*arguments)
            else:
                call = partial(copy_context().run, handler.function, *arguments)
                value = await asyncio.get_running_loop().run_in_executor(threads, call)
        return Ending(Outcome.SUCCEEDED, result=_result(value))
    except RetryJob as error:
        return Ending(Outcome.FAILED, _text(error), retry_ms=_delay_ms(error.delay_s))
    except CancelJob as error:
        return Ending(Outcome.CANCELLED, _text(error))
    except (Exception, asyncio.CancelledError, SystemExit) as error:  # anything that a job raises is its outcome
        if isinstance(error, asyncio.CancelledError):
            if running.stopping.is_set():
                return Ending(Outcome.CANCELLED, "it was told to stop")
            if (task := asyncio.current_task()) is not None and task.cancelling():
                raise
        outcome = Outcome.FAILED if leased.retry_exceptions else Outcome.CANCELLED
        text = _text(error) if isinstance(error, CallboardError) else f"{type(error).__name__}: {_text(error)}"
        if isinstance(error, TimeoutError) and leased.timeout_ms:
            text = f"it took longer than {leased.timeout_ms / 1000:g} s"
        return Ending(outcome, text[:TEXT_MAX])


def _result(value: object) -> bytes:
    """The result as bytes. Raises ``RequestRefused`` for one that no record can hold."""
    result = encoded(value) if value is not None else b""
    if len(result) > RESULT_BYTES_MAX:
        raise RequestRefused(
            f"the result has {len(result)} bytes, and the most is {RESULT_BYTES_MAX}; return where it is kept"
        )
    return result


def _text(error: BaseException) -> str:
    """What the error says, as a record can hold it."""
    return str(error)[:TEXT_MAX].encode(errors="replace").decode()


def _delay_ms(delay_s: float | None) -> int:
    """Milliseconds within the limits; -1 for the queue's."""
    return -1 if delay_s is None or math.isnan(delay_s) else int(min(max(0.0, delay_s * 1000), MS_MAX - 1))
