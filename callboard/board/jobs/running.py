"""Runs one job: calls the service's function, and turns what it does into an outcome."""

import asyncio
import inspect
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from inspect import Parameter
from typing import Any

from callboard.actors.jobs.topics import matched
from callboard.board.jobs.job import decoded
from callboard.board.jobs.new_job import encoded
from callboard.board.jobs.registry import DefinedJob
from callboard.board.jobs.signatures import parameters, payload_model
from callboard.errors import CallboardError, CancelJob, ConfigError, RetryJob
from callboard.messages.jobs.job_mail import LeasedJob
from callboard.messages.jobs.job_messages import JobEnd, Outcome
from callboard.messages.jobs.limits import PATTERN

TEXT_MAX = 2000
"""Characters of a message that are kept."""


@dataclass(slots=True)
class RunningJob:
    """The job that a function runs, as its second argument, if it takes one.

    Attributes:
        id: of the job.
        topic: of the job.
        attempt: counts from 1.
        stopping: set when the job is to stop. A coroutine is cancelled then; any other function has to look at it.
    """

    id: int
    topic: str
    attempt: int
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


async def run(handler: Handler, leased: LeasedJob, running: RunningJob) -> Ending:
    """Run the job. Raises nothing, unless it is cancelled for another reason than that the job is to stop."""
    try:
        arguments = handler.arguments(leased.payload, running)
        async with asyncio.timeout(leased.timeout_ms / 1000 or None):
            if handler.is_async:
                value = await handler.function(*arguments)
            else:
                value = await asyncio.to_thread(handler.function, *arguments)
        return Ending(Outcome.SUCCEEDED, result=encoded(value) if value is not None else b"")
    except RetryJob as error:
        delay_ms = -1 if error.delay_s is None else int(error.delay_s * 1000)
        return Ending(Outcome.FAILED, str(error)[:TEXT_MAX], retry_ms=delay_ms)
    except CancelJob as error:
        return Ending(Outcome.CANCELLED, str(error)[:TEXT_MAX])
    except asyncio.CancelledError:
        if not running.stopping.is_set():
            raise
        return Ending(Outcome.CANCELLED, "it was told to stop")
    except Exception as error:  # noqa: BLE001 - whatever a job raises is its outcome
        outcome = Outcome.FAILED if leased.retry_exceptions else Outcome.CANCELLED
        text = str(error) if isinstance(error, CallboardError) else f"{type(error).__name__}: {error}"
        if isinstance(error, TimeoutError) and leased.timeout_ms:
            text = f"it took longer than {leased.timeout_ms / 1000:g} s"
        return Ending(outcome, text[:TEXT_MAX])
