"""What blocking forms of asynchronous objects share: an event loop in a thread, and methods that run there."""

import asyncio
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Iterator
from concurrent.futures import CancelledError
from functools import wraps
from inspect import Parameter, Signature, signature
from types import TracebackType
from typing import Any, Concatenate, Generic, ParamSpec, Protocol, Self, TypeVar

from callboard.board.board import ALREADY_OPEN
from callboard.board.connect.resources import FORKED
from callboard.errors import ConfigError, RequestRefused

P = ParamSpec("P")
R = TypeVar("R")
S = TypeVar("S")
A = TypeVar("A")
A_co = TypeVar("A_co", covariant=True)
B = TypeVar("B")


class Entered(Protocol):
    """An object for ``async with``."""

    async def __aenter__(self) -> object:
        """Begin."""

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> object:
        """End."""


E_co = TypeVar("E_co", bound=Entered, covariant=True)


class EventLoop:
    """An event loop in a thread, from ``start`` to ``close``."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._started = threading.Event()
        self._closing: asyncio.Event
        self._thread: threading.Thread

    def start(self) -> None:
        """Start the thread."""
        if self._loop is not None:
            raise ConfigError(ALREADY_OPEN)
        self._closing = asyncio.Event()
        self._started.clear()
        self._thread = threading.Thread(target=self._serve, name="callboard-sync", daemon=True)
        self._thread.start()
        self._started.wait()

    def run(self, work: Coroutine[Any, Any, R]) -> R:
        """Run the coroutine on the loop and return its result. Interrupting the wait cancels the coroutine."""
        if self._loop is None:
            work.close()
            raise ConfigError("the board is not open; use it inside `with Callboard(...) as board:`")
        if not self.is_open:
            work.close()
            raise ConfigError(FORKED)
        if threading.current_thread() is self._thread:  # it would wait for itself
            work.close()
            raise RequestRefused("a blocking call on the board's own event loop; call it from a function without async")
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def each(self, items: AsyncGenerator[R, None]) -> Iterator[R]:
        """What the generator yields; it ends when the loop is closed."""
        try:
            while (item := self.run(_next(items))) is not None:
                yield item
        except CancelledError:
            if self.is_open:
                raise
        finally:
            if self.is_open:
                self.run(items.aclose())

    @property
    def is_open(self) -> bool:
        """Whether it is between ``start`` and ``close``, and its thread is here: a forked child does not have it."""
        return self._loop is not None and self._thread.is_alive()

    def close(self) -> None:
        """End the thread."""
        loop, self._loop = self._loop, None
        if loop is not None:
            loop.call_soon_threadsafe(self._closing.set)
            self._thread.join()

    def _serve(self) -> None:
        asyncio.run(self._until_closed())

    async def _until_closed(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._started.set()
        await self._closing.wait()


class Twin(Generic[A_co]):
    """An asynchronous object, and the loop that it runs on."""

    def __init__(self, loop: EventLoop, asynchronous: A_co) -> None:
        self._loop, self._asynchronous = loop, asynchronous

    def __repr__(self) -> str:
        return f"<sync {self._asynchronous!r}>"


class InWith(Twin[E_co]):
    """One that is used in ``with``, as the asynchronous one is in ``async with``."""

    def __enter__(self) -> Self:
        self._loop.run(self._asynchronous.__aenter__())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._loop.run(self._asynchronous.__aexit__(kind, error, trace))


class WithLoop(InWith[E_co]):
    """One whose loop runs while it is used in ``with``."""

    def __enter__(self) -> Self:
        self._loop.start()
        try:
            return super().__enter__()
        except BaseException:
            self._loop.close()
            raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            super().__exit__(kind, error, trace)
        finally:
            self._loop.close()


def waiting(
    method: Callable[Concatenate[A, P], Coroutine[Any, Any, R]],
) -> Callable[Concatenate[Twin[A], P], R]:
    """The blocking form of an asynchronous method; signature and docstring stay the same."""

    @wraps(method)
    def wait(self: Twin[A], /, *args: P.args, **kwargs: P.kwargs) -> R:
        return self._loop.run(method(self._asynchronous, *args, **kwargs))

    return wait


def starting(
    twin: Callable[[EventLoop, B], R], method: Callable[Concatenate[A, P], Coroutine[Any, Any, B]]
) -> Callable[Concatenate[Twin[A], P], R]:
    """The blocking form of a method, which gives the twin of what that starts."""

    @wraps(method)
    def start(self: Twin[A], /, *args: P.args, **kwargs: P.kwargs) -> R:
        return twin(self._loop, self._loop.run(method(self._asynchronous, *args, **kwargs)))

    return start


def iterating(
    method: Callable[Concatenate[A, P], AsyncGenerator[R, None]],
) -> Callable[Concatenate[Twin[A], P], Iterator[R]]:
    """The iterator for an asynchronous one. It blocks the thread that iterates."""

    @wraps(method)
    def iterate(self: Twin[A], /, *args: P.args, **kwargs: P.kwargs) -> Iterator[R]:
        return self._loop.each(method(self._asynchronous, *args, **kwargs))

    return iterate


def making(
    twin: Callable[[EventLoop, B], R], method: Callable[Concatenate[A, P], B]
) -> Callable[Concatenate[Twin[A], P], R]:
    """The same method, which gives the twin of what it makes."""

    @wraps(method)
    def make(self: Twin[A], /, *args: P.args, **kwargs: P.kwargs) -> R:
        return twin(self._loop, method(self._asynchronous, *args, **kwargs))

    return make


def passing(method: Callable[Concatenate[A, P], R]) -> Callable[Concatenate[Twin[A], P], R]:
    """The same method, for one that never blocks, and that any thread may call."""

    @wraps(method)
    def call(self: Twin[A], /, *args: P.args, **kwargs: P.kwargs) -> R:
        return method(self._asynchronous, *args, **kwargs)

    return call


def on_loop(method: Callable[Concatenate[A, P], R]) -> Callable[Concatenate[Twin[A], P], R]:
    """The same method, called on the event loop."""

    @wraps(method)
    def call(self: Twin[A], /, *args: P.args, **kwargs: P.kwargs) -> R:
        async def run() -> R:
            return method(self._asynchronous, *args, **kwargs)

        return self._loop.run(run())

    return call


def given(make: Callable[P, A]) -> Callable[[Callable[[S, A], R]], Callable[Concatenate[S, P], R]]:
    """Have a method take the arguments of ``make``, and pass it the result of calling ``make`` with them."""

    def decorate(method: Callable[[S, A], R]) -> Callable[Concatenate[S, P], R]:
        @wraps(method)
        def call(self: S, /, *args: P.args, **kwargs: P.kwargs) -> R:
            return method(self, make(*args, **kwargs))

        its = Parameter("self", Parameter.POSITIONAL_ONLY), *signature(make).parameters.values()
        call.__signature__ = Signature(its)  # type: ignore[attr-defined]  # for people: type checkers know it
        return call

    return decorate


async def _next(items: AsyncIterator[R]) -> R | None:
    return await anext(items, None)
