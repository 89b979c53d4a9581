"""Questions about events: of packages, and those that services publish."""

from collections import deque
from typing import TYPE_CHECKING, Any

from callboard.board.events.distributed_event import DistributedEvent
from callboard.board.events.listeners import ListenerState
from callboard.board.read.events import BoardEvent
from callboard.door import jobs as door
from callboard.door.limits import CURSOR_CHARS_MAX, OFFSET_MAX, PAGE_MAX
from callboard.messages.distribution.package_event import KINDS
from callboard.messages.jobs.limits import PATTERN, TOPIC_CHARS_MAX
from callboard.web.api.parameters import LIMIT, OF_PUBLISHER, choice, ruled, text, whole
from callboard.web.api.read import Follow, Read

if TYPE_CHECKING:
    from callboard.board.board import Callboard

KIND = choice("kind", "Only what is of this kind.", *KINDS, to="kinds").several(len(KINDS))
TOPICS_MAX = 20
POSITION = whole("after", "The `position` of an event; -1 begins with the oldest.", -1, OFFSET_MAX)


async def _packages(
    board: "Callboard", *, limit: int, after: int | None = None, **wanted: Any
) -> tuple[BoardEvent, ...]:
    """The newest ones or, after a position, the next ones."""
    found = deque[BoardEvent](maxlen=limit)
    async for event in board.events(**wanted, after=after, follow=False):
        if after is not None and len(found) == limit:
            break
        found.append(event)
    return tuple(found)


EVENTS = (
    Read("events_packages", "/events/packages", "The newest events of packages, or those after a position.",
         tuple[BoardEvent, ...], _packages, (OF_PUBLISHER, KIND, POSITION, LIMIT)),
    Read("events_list", "/events/published", "The newest events that services have published, or those after a place.",
         tuple[DistributedEvent, ...], lambda board, **given: board.events.find(**given),
         (ruled("topic", "Only of this topic, or pattern of topics.", door.pattern, TOPIC_CHARS_MAX, PATTERN.pattern,
                to="topics")
          .several(TOPICS_MAX),
          text("after", "The `cursor` of an event.", CURSOR_CHARS_MAX),
          whole("limit", "How many at most.", 1, PAGE_MAX, default=100))),
    Read("events_listeners", "/events/listeners", "The named listeners, and how far behind each is.",
         tuple[ListenerState, ...], lambda board: board.events.listeners()),
)  # fmt: skip

PACKAGE_EVENTS = Follow(
    "events", "/events", "What becomes of packages, as it happens.", BoardEvent,
    lambda board, **given: board.events(**given), lambda event: event.position, POSITION, (OF_PUBLISHER, KIND),
)  # fmt: skip
