"""A distributed event, as services see it, and how it is published and read."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from callboard.actors.jobs.topics import runs
from callboard.board.context import BoardContext
from callboard.door import events as door
from callboard.door.cursors import Place, cursor_at
from callboard.errors import LogUnavailable, RequestRefused, SchemaTooNew, TopicMissing, Undecodable
from callboard.logger import get_logger
from callboard.messages.events.event_messages import EVENT_MESSAGES, EventPublishedMessage, check_event, properties_of
from callboard.messages.headers import new_record
from callboard.messages.reading import Problem, Unread, read
from callboard.messages.record import Record
from callboard.messages.topics import broadcast_topic
from callboard.telemetry.spans import producing
from callboard.telemetry.traceparent import parsed

LISTING = ("events",)
"""What the cursors of events are for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DistributedEvent:
    """Something that a service published for all others.

    Attributes:
        topic: what it is about, such as ``shop/price``.
        properties: what was given.
        instance: the member that published it, or the host of a process that is none.
        is_local: whether this process published it.
        id: unique; the same if the event comes again.
        time_ms: when it was published, milliseconds since the epoch.
        cursor: its place, for ``after``.
        traceparent: the span in which it was published, as the W3C defines it; empty if that was not traced.
    """

    topic: str
    properties: dict[str, Any]
    instance: str
    is_local: bool
    id: str
    time_ms: int
    cursor: str
    traceparent: str = ""


async def publish(
    board: BoardContext, topic: str, properties: Mapping[str, Any] | None, number: str
) -> DistributedEvent:
    """Append the event, with this id; see ``BoardEvents.publish``. Listeners ignore an id that they have seen."""
    given = door.event(topic=topic, properties={} if properties is None else properties)
    event = EventPublishedMessage(**given, instance=board.instance, incarnation=board.incarnation)
    try:
        check_event(event)
    except Undecodable as error:
        raise RequestRefused(str(error)) from error
    log, name, now_ns = board.log, broadcast_topic(board.settings.prefix), board.now_ns()
    with producing("publish", event.topic, {"messaging.message.id": number}) as span:
        record = new_record(
            event, record_id=number, time_ns=now_ns, producer=board.instance, key=number, traceparent=span.traceparent
        )
        try:
            [offset] = await log.append(name, [record])
        except (LogUnavailable, TopicMissing):  # the key, or else its id, makes it harmless to append it again
            await log.ensure(name)
            [offset] = await log.append(name, [record])
    return _seen(board, record.at(offset, now_ns), event, await log.identity(name))


def opened(board: BoardContext, record: Record, topics: Iterable[str], log_id: str) -> DistributedEvent | None:
    """The event in the record, if its topic is one of these; None for anything else, and for what cannot be read.

    Raises ``SchemaTooNew``: a newer version may mean anything.
    """
    event = read(record, EVENT_MESSAGES, check_event)
    if isinstance(event, Unread):
        if event.problem is Problem.TOO_NEW:
            raise SchemaTooNew(event.detail)
        get_logger().debug("event.ignored", offset=record.offset, reason=event.detail)
        return None
    if not runs(tuple(topics), event.topic):
        return None
    try:
        return _seen(board, record, event, log_id)
    except Undecodable as error:
        get_logger().debug("event.ignored", offset=record.offset, reason=str(error))
        return None


def _seen(board: BoardContext, record: Record, event: EventPublishedMessage, log_id: str) -> DistributedEvent:
    return DistributedEvent(
        topic=event.topic, properties=properties_of(event), instance=event.instance,
        is_local=event.incarnation == board.incarnation, id=record.header("id"), time_ms=record.time_ns // 1_000_000,
        cursor=cursor_at(Place(record.offset), LISTING, log_id),
        traceparent=str(parsed(record.header("traceparent")) or ""),
    )  # fmt: skip
