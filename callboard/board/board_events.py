"""The events on a board's log: those of packages, and those that services publish."""

from collections.abc import AsyncGenerator, Iterable, Mapping
from typing import Any

from callboard.backends.logs.walk import backwards, between
from callboard.board.context import BoardContext
from callboard.board.events.distributed_event import LISTING, DistributedEvent, opened, publish
from callboard.board.events.listener import Listener
from callboard.board.events.listeners import ListenerState, forget_listener, listener_states
from callboard.board.read.events import BoardEvent
from callboard.board.read.events import events as package_events
from callboard.door import events as door
from callboard.door.cursors import Place, cursor_at, place_of
from callboard.door.questions import asked
from callboard.errors import RequestRefused, TopicMissing
from callboard.messages.topics import broadcast_topic

NEWEST_MAX = 50_000
"""Offsets at the end of the topic that are searched for the newest events."""


class BoardEvents:
    """Publishes events to all members of the cluster, and listens to them. Called, it follows what becomes of packages.

    An event is a topic and properties. Publish it once it has happened; there is no need to know who listens.
    """

    def __init__(self, board: BoardContext) -> None:
        self._board = board

    def __call__(
        self, publisher: str = "", kinds: Iterable[str] = (), after: int | None = None, *, follow: bool = True
    ) -> AsyncGenerator[BoardEvent, None]:
        """Follow what becomes of packages, in any process: until the board closes or, without ``follow``, to the newest
        event.

        Args:
            publisher: events of this one's packages; of all if not given.
            kinds: created, queued, distributed, imported, failed; all if not given. Only kinds in ``Publishing.events``
                are written.
            after: the ``position`` of the last event seen; -1 starts at the oldest. Without it, starts with events from
                now on; or, without ``follow``, some way back from the newest.
            follow: whether to wait for more events at the end.

        Yields:
            Each event once, as far as the last ten thousand are concerned; compare ``key`` beyond that.

        Raises:
            RequestRefused: the publisher is not known, and ``follow`` is false.
            OffsetOutOfRange: events after ``after`` were trimmed.
            LogReplaced: the positions belong to another log.
        """
        wanted = frozenset(asked(publisher=publisher, kinds=kinds, after=after, follow=follow)["kinds"])
        return package_events(self._board, self._board.log, publisher, wanted, after, follow=follow)

    async def publish(self, topic: str, properties: Mapping[str, Any] | None = None) -> DistributedEvent:
        """Publish an event; returns it once the log has it.

        Args:
            topic: what it is about, such as ``shop/price``.
            properties: a JSON object of up to 256 KB.

        Raises:
            RequestRefused: wrong arguments.
            LogUnavailable: the log fails; it is unknown whether the event was published.
        """
        return await publish(self._board, topic, properties, self._board.new_id())

    def listen(self, topics: str | Iterable[str] = "**", *, name: str = "", oldest: bool = False) -> Listener:
        """Listen to events, inside ``async with``.

        A listener with a name gets each event at least once, those too that are published while it does not run; twice
        only after a crash. One without gets what is published from now on, at most once.

        Args:
            topics: a topic or a pattern of topics, or several.
            name: of the listener. Two at a time with one name both get all events.
            oldest: whether a new listener begins with the oldest event there is, instead of now.

        Raises:
            RequestRefused: wrong arguments.
        """
        given = door.asked(topics=topics, name=name, oldest=oldest)
        return Listener(self._board, given["topics"], name, oldest=oldest)

    async def find(
        self, topics: str | Iterable[str] = "**", *, after: str = "", limit: int = 100
    ) -> tuple[DistributedEvent, ...]:
        """The newest events, or those after a place, the oldest first.

        Args:
            topics: a topic or a pattern of topics, or several.
            after: the ``cursor`` of an event.
            limit: how many, up to 1000.

        Raises:
            RequestRefused: the cursor is of another log, or what follows it was trimmed, with the oldest one there is.
        """
        wanted = door.asked(topics=topics, after=after, limit=limit)["topics"]
        log, name = self._board.log, broadcast_topic(self._board.settings.prefix)
        try:
            log_id, (first, end) = await log.identity(name), await log.bounds(name)
        except TopicMissing:
            return ()
        if not after:
            start = max(first, end - NEWEST_MAX)
        elif (start := place_of(after, LISTING, log_id, end).offset + 1) < first:
            oldest = cursor_at(Place(first - 1), LISTING, log_id)
            raise RequestRefused(
                f"events up to offset {first - 1} were removed; the oldest that is left follows {oldest}", code="gone"
            )
        found = list[DistributedEvent]()
        async for record in between(log, name, start, end) if after else backwards(log, name, start, end):
            if (event := opened(self._board, record, wanted, log_id)) is not None:
                found.append(event)
            if len(found) == limit:
                break
        return tuple(found if after else reversed(found))

    async def listeners(self) -> tuple[ListenerState, ...]:
        """The named listeners, and how far behind each is."""
        return await listener_states(self._board)

    async def forget_listener(self, name: str) -> bool:
        """Forget how far a listener is that has stopped; returns whether there was one."""
        door.asked(listener=name)
        return await forget_listener(self._board, name)
