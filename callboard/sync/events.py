"""Events without an event loop."""

from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import Self

from callboard.board import board_events
from callboard.board.events import listener
from callboard.board.events.distributed_event import DistributedEvent
from callboard.board.read.events import BoardEvent
from callboard.sync.twin import Twin, waiting


class Listener(Twin[listener.Listener]):
    """See ``callboard.Listener``. Created by ``BoardEvents.listen``; used in ``with``. Iterating blocks the thread."""

    run = waiting(listener.Listener.run)

    @property
    def lost(self) -> int:
        """See ``callboard.Listener.lost``."""
        return self._asynchronous.lost

    def __enter__(self) -> Self:
        self._loop.run(self._asynchronous.__aenter__())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._loop.run(self._asynchronous.__aexit__(kind, error, trace))

    def __iter__(self) -> Iterator[DistributedEvent]:
        while (event := self._loop.run(self._next())) is not None:
            yield event

    async def _next(self) -> DistributedEvent | None:
        return await anext(self._asynchronous, None)


class BoardEvents(Twin[board_events.BoardEvents]):
    """See ``callboard.BoardEvents``. Created by ``Callboard.events``."""

    publish = waiting(board_events.BoardEvents.publish)
    publish_as = waiting(board_events.BoardEvents.publish_as)
    find = waiting(board_events.BoardEvents.find)
    listeners = waiting(board_events.BoardEvents.listeners)
    forget_listener = waiting(board_events.BoardEvents.forget_listener)

    def __call__(
        self, publisher: str = "", kinds: Iterable[str] = (), after: int | None = None, *, follow: bool = True
    ) -> Iterator[BoardEvent]:
        """See ``callboard.BoardEvents.__call__``. Blocks the thread that iterates."""
        return self._loop.each(self._asynchronous(publisher, kinds, after, follow=follow))

    def listen(self, topics: str | Iterable[str] = "**", *, name: str = "", oldest: bool = False) -> Listener:
        """See ``callboard.BoardEvents.listen``. Functions that are no coroutines run in a thread of the listener."""
        return Listener(self._loop, self._asynchronous.listen(topics, name=name, oldest=oldest))
