"""The functions of a worker."""

import inspect
from collections.abc import Callable, Iterable, Mapping
from inspect import Parameter
from typing import Any

from callboard.actors.jobs.topics import matched
from callboard.board.jobs.functions.registry import DefinedJob
from callboard.board.jobs.functions.signatures import parameters, payload_model
from callboard.board.jobs.job import decoded
from callboard.board.jobs.work.ending import Ending, succeeded
from callboard.board.jobs.work.running_job import LATER, RunningJob
from callboard.door.names import meant
from callboard.door.rules import shown
from callboard.errors import ConfigError
from callboard.messages.jobs.limits import PATTERN


class Handler:
    """A service's function, and what it takes. Raises ``ConfigError`` if that cannot be known."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.reference = function.reference if isinstance(function, DefinedJob) else ""
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

    def demand_any(self, deny: Iterable[str]) -> None:
        """Raise ``ConfigError`` if none of the functions is for a topic of one of these patterns."""
        for denied in deny:
            if not any(matched(denied, its) or matched(its, denied) for its in self._handlers):
                then = meant(denied, self._handlers, "leave it out")
                raise ConfigError(f"the worker has no function for {denied!r}, which it is to deny; {then}")

    def of(self, topic: str) -> Handler | None:
        """The function of the most specific pattern that matches."""
        if topic not in self._found:
            self._found[topic] = self._find(topic)
        return self._found[topic]

    def _find(self, topic: str) -> Handler | None:
        found = [(match.rank, pattern) for pattern in self._handlers if (match := matched(pattern, topic))]
        return self._handlers[max(found)[1]] if found else None


async def finished(value: object, running: RunningJob) -> Ending:
    """How the job ends whose function has returned this: a value, or what has to be waited for."""
    while inspect.isawaitable(value):  # twice for a function that makes a coroutine and is none, as decorators can be
        value = await value
    return await running.settled() if value is LATER else succeeded(value)
