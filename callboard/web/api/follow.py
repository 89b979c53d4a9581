"""Streams of events, to readers that go on where they were."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import Response

from callboard.board.envelope import Diagnostic, enclosed, written
from callboard.errors import CallboardError
from callboard.web.api.answers import refused
from callboard.web.api.parameters import arguments
from callboard.web.api.read import Follow
from callboard.web.streams import HEADERS, QUIET_S, Stream

if TYPE_CHECKING:
    from callboard.board.board import Callboard

STREAMS_MAX = 100
"""At a time; each asks the log for news by itself."""

REFUSED_S = 0.5
"""What a stream begins with is known within milliseconds if the request is wrong; else there may be no event for long.
"""


class Following:
    """Answers those who follow events of a board; each has its own place, and never a backlog."""

    def __init__(self, board: "Callboard") -> None:
        self._board = board
        self._open = 0

    def answer(self, follow: Follow) -> Callable[[Request], Awaitable[Response]]:
        """What answers requests for this stream."""

        async def answer(request: Request) -> Response:
            given = arguments((*follow.parameters, follow.after), {}, request.scope["query_string"])
            if seen := request.headers.get("last-event-id"):
                given |= {follow.after.name: follow.after.value([seen])}
            if self._open >= STREAMS_MAX:
                return refused(503, "busy", f"{STREAMS_MAX} streams are open already", {"Retry-After": "60"})
            pieces = Pieces(follow, follow.ask(self._board, **given))
            self._open += 1

            def ended() -> None:
                self._open -= 1
                pieces.end()

            try:
                await pieces.begin()
            except BaseException:
                ended()
                raise
            if request.method == "HEAD":
                ended()
                return Response(headers=HEADERS, media_type=Stream.media_type)
            return Stream(pieces.next, lambda: None, ended)

        return answer


class Pieces:
    """The pieces of one stream."""

    def __init__(self, follow: Follow, events: AsyncGenerator[Any, None]) -> None:
        self._follow, self._events = follow, events
        self._coming = asyncio.ensure_future(anext(events))
        self._has_ended = False

    async def begin(self) -> None:
        """Raise what the request is refused with."""
        done, _ = await asyncio.wait({self._coming}, timeout=REFUSED_S)
        if done and self._coming.exception():
            self._coming.result()

    async def next(self) -> str:
        """The next event; a comment if there is none for long. What ends the events is told, too."""
        if self._has_ended:
            raise StopAsyncIteration
        done, _ = await asyncio.wait({self._coming}, timeout=QUIET_S)
        if not done:
            return ": quiet\n\n"
        try:
            event = self._coming.result()
        except CallboardError as error:
            self._has_ended = True
            failed = enclosed(None, "error", [Diagnostic(error.code, str(error))])
            return f"event: problem\ndata: {written(failed)}\n\n"
        self._coming = asyncio.ensure_future(anext(self._events))
        return f"id: {self._follow.id_of(event)}\ndata: {written(event)}\n\n"

    def end(self) -> None:
        """Ask for no more events."""
        if not self._coming.cancel() and not self._coming.cancelled():
            self._coming.exception()  # looked at, as asyncio reports those that nobody has
