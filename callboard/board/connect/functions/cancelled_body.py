"""The body of an ``async with`` that is cancelled when what it relies on ends."""

import asyncio
from typing import Protocol

from callboard.errors import CallboardError


class Ending(Protocol):
    """What the body relies on."""

    async def ended(self) -> None:
        """Wait until it has ended; raises the error that ended it."""
        ...


class CancelledBody:
    """Cancels the task that created it when what it relies on ends with an error, as ``asyncio.timeout`` does at its
    deadline.
    """

    def __init__(self, relied_on: Ending) -> None:
        task = asyncio.current_task()
        assert task is not None, "the body of an `async with` runs in a task"
        self._task, self._asked_before = task, task.cancelling()
        self._problem: CallboardError | None = None
        self._watch = asyncio.create_task(self._wait(relied_on))

    def leave(self, error: BaseException | None) -> CallboardError | None:
        """Call when the body is over, with its error; returns the error to raise instead, if any."""
        self._watch.cancel()
        if self._problem is None:
            return None
        others_want_it = self._task.uncancel() > self._asked_before
        was_cancelled = isinstance(error, asyncio.CancelledError) and not others_want_it
        return self._problem if error is None or was_cancelled else None

    async def _wait(self, relied_on: Ending) -> None:
        try:
            await relied_on.ended()
        except CallboardError as problem:
            self._problem = problem
            self._task.cancel()
