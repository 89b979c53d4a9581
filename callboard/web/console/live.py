"""Sends a page again after each reading of the board, as server-sent events, to those who have it open.

Each reader gets the newest page when it is ready for one, never a backlog. Readers of the same page share one drawing.
"""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable

from starlette.requests import Request
from starlette.responses import Response

from callboard.web.console.page import Page, Question
from callboard.web.console.watch import Snapshot, Watch
from callboard.web.streams import QUIET_S, Stream

CORE_SHARE = 0.1
"""How much of a core drawings may take. With many different pages open, each is drawn less often than it is read."""

COST_S_MAX = 0.2
"""A drawing counts as this long at most: it is measured together with what else ran meanwhile."""

READERS_MAX = 400
"""Pages open at once; others are told to try again later, and still show what they had."""

Draw = Callable[[Page, Question], Awaitable[tuple[int, str]]]


class Pace:
    """Spreads the drawings of all pages over time."""

    def __init__(self) -> None:
        self._free_s = 0.0

    async def turn(self, cost_s: float) -> None:
        """Wait until a drawing that takes this much processor time may begin."""
        now_s = asyncio.get_running_loop().time()
        begin_s = max(now_s, self._free_s)
        self._free_s = begin_s + cost_s / CORE_SHARE
        await asyncio.sleep(begin_s - now_s)


def live_updates(
    watch: Watch, page: Page, question: Callable[[Request, Snapshot], Question], drawn: Draw, readers: set[object],
    pace: Pace,
) -> Callable[[Request], Awaitable[Response]]:  # fmt: skip
    """The answers to those who have this page open; ``readers`` are all that are connected, to any page."""
    drawings: dict[object, tuple[int, asyncio.Future[str]]] = {}
    cost_s = 0.0

    async def drawing(asked: Question) -> str:
        nonlocal cost_s
        await pace.turn(cost_s)
        before_s = time.thread_time()
        _, content = await drawn(page, asked)
        piece = f"event: page\ndata: {json.dumps(content)}\n\n"
        cost_s = min(time.thread_time() - before_s, COST_S_MAX)
        return piece

    async def draw_once(request: Request, now: Snapshot) -> str:
        """The page as it is at this reading, from the first who asks."""
        asked = question(request, now)
        key = request.scope["path"], request.scope["query_string"], asked.acts
        number, content = drawings.get(key, (-1, None))
        if content is None or number != now.number:
            content = asyncio.ensure_future(drawing(asked))
            for old in [its for its, (then, _) in drawings.items() if then != now.number]:
                del drawings[old]
            drawings[key] = now.number, content
        return await asyncio.shield(content)

    async def answer(request: Request) -> Response:
        if not page.is_live(request.query_params):
            return Response("this page is not kept up to date", 404)
        if len(readers) >= READERS_MAX:
            return Response("too many pages are open", 503, {"Retry-After": "60"})
        seen, last, me = -1, "", object()

        async def pieces() -> str:
            nonlocal seen, last
            now = await (watch.now() if seen < 0 else watch.after(seen, QUIET_S))
            if now.number == seen:
                return ": quiet\n\n"
            seen, before = now.number, last
            last = await draw_once(request, now)
            return last if last != before else ": the same\n\n"

        return Stream(pieces, lambda: readers.add(me), lambda: readers.discard(me))

    return answer
