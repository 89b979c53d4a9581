"""An asyncio event loop in virtual time: it never sleeps and never waits for the outside world."""

import asyncio
import math
import selectors
from collections.abc import Callable
from concurrent.futures import Executor
from contextvars import Context
from random import Random
from typing import Any, TypeVar, TypeVarTuple

T = TypeVar("T")
Arguments = TypeVarTuple("Arguments")

EXECUTOR_S = 0.001
"""The longest time that a blocking call given to a thread seems to take."""


class StuckError(RuntimeError):
    """Everything waits and no timer is set: nothing can ever happen again."""


class BusyError(RuntimeError):
    """The loop took more turns than allowed: something is busy for ever."""


class _NoTimePasses(selectors.BaseSelector):
    """Advances the clock instead of waiting. No file descriptor is ever ready."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.turns_left = math.inf
        self._keys: dict[Any, selectors.SelectorKey] = {}

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            raise StuckError("the simulation is stuck: every task waits, and no event is due")
        self.turns_left -= 1
        if self.turns_left < 0:
            raise BusyError("the simulation does not end: it takes turn after turn")
        self.now_s += max(0.0, timeout)
        return []

    def register(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        number = fileobj if isinstance(fileobj, int) else fileobj.fileno()
        self._keys[number] = selectors.SelectorKey(fileobj, number, events, data)
        return self._keys[number]

    def unregister(self, fileobj: Any) -> selectors.SelectorKey:
        return self._keys.pop(fileobj if isinstance(fileobj, int) else fileobj.fileno())

    def get_map(self) -> dict[Any, selectors.SelectorKey]:
        return self._keys


class VirtualLoop(asyncio.SelectorEventLoop):
    """Runs coroutines as usual; time jumps to the next timer when nothing is ready.

    Blocking calls given to a thread run after a delay that ``rng`` chooses, so that their order depends only
    on the seed.
    """

    def __init__(self, rng: Random) -> None:
        self._clock = _NoTimePasses()
        self._rng = rng
        super().__init__(self._clock)

    def time(self) -> float:
        """Virtual seconds since the loop was created."""
        return self._clock.now_s

    def allow(self, turns: float) -> None:
        """Allow this many more turns; after them the loop's work ends with a ``BusyError``."""
        self._clock.turns_left = turns

    def run_in_executor(
        self, executor: Executor | None, func: Callable[[*Arguments], T], *args: *Arguments
    ) -> asyncio.Future[T]:
        """Uses no thread: see the class."""
        del executor
        return self.create_task(self._call(lambda: func(*args)))

    def call_soon_threadsafe(
        self, callback: Callable[[*Arguments], object], *args: *Arguments, context: Context | None = None
    ) -> asyncio.Handle:
        """There is only one thread, so nothing has to be woken."""
        return self.call_soon(callback, *args, context=context)

    async def _call(self, func: Callable[[], T]) -> T:
        await asyncio.sleep(self._rng.uniform(0, EXECUTOR_S))
        return func()
