"""Events without an event loop."""

from collections.abc import Iterator

from callboard.board import board_events
from callboard.board.events import listener
from callboard.board.events.distributed_event import DistributedEvent
from callboard.sync.twin import InWith, Twin, iterating, making, waiting


class Listener(InWith[listener.Listener]):
    """See ``callboard.Listener``. Created by ``BoardEvents.listen``; used in ``with``. Iterating blocks the thread."""

    run = waiting(listener.Listener.run)

    @property
    def lost(self) -> int:
        """See ``callboard.Listener.lost``."""
        return self._asynchronous.lost

    def __iter__(self) -> Iterator[DistributedEvent]:
        while (event := self._loop.run(self._next())) is not None:
            yield event

    async def _next(self) -> DistributedEvent | None:
        return await anext(self._asynchronous, None)


class BoardEvents(Twin[board_events.BoardEvents]):
    """See ``callboard.BoardEvents``. Created by ``Callboard.events``."""

    publish = waiting(board_events.BoardEvents.publish)
    find = waiting(board_events.BoardEvents.find)
    listeners = waiting(board_events.BoardEvents.listeners)
    forget_listener = waiting(board_events.BoardEvents.forget_listener)
    listen = making(Listener, board_events.BoardEvents.listen)
    __call__ = iterating(board_events.BoardEvents.__call__)
