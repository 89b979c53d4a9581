"""The messages of distributed events and of their listeners, and their limits."""

import json
from dataclasses import dataclass
from typing import Any

from callboard.errors import Undecodable
from callboard.messages.event import Event
from callboard.messages.jobs.limits import JOB_MAX, NAME, PAYLOAD_BYTES_MAX, TOPIC, TOPIC_CHARS_MAX, demand


@dataclass(frozen=True, slots=True, kw_only=True)
class EventPublishedMessage(Event):
    """Something has happened: the ``properties`` of ``topic`` are a JSON object. ``instance`` is the member, or else
    the host, that published it, and ``incarnation`` its process.
    """

    topic: str
    properties: bytes
    instance: str
    incarnation: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ListenerMark(Event):
    """How far a named listener is: it has handled all events below ``next``, on the topic with the identity ``log_id``.

    ``time_ms`` is when it said so, since the epoch. ``attempts`` at the event at ``next`` have failed, the last one for
    ``reason``. ``given_up`` events were left unhandled after that, and ``lost`` offsets trimmed before it saw them.
    """

    name: str
    topics: tuple[str, ...] = ()
    log_id: str = ""
    next: int = 0
    time_ms: int = 0
    attempts: int = 0
    reason: str = ""
    given_up: int = 0
    lost: int = 0
    removed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ListenersMessage(Event):
    """The marks of one listener, or of all of them, so that older records can go."""

    marks: tuple[ListenerMark, ...]


EVENT_MESSAGES: tuple[type[EventPublishedMessage]] = (EventPublishedMessage,)
"""Every message of the topic of events."""

LISTENER_MESSAGES: tuple[type[ListenersMessage]] = (ListenersMessage,)
"""Every message of the topic of listeners."""


def properties_of(event: EventPublishedMessage) -> dict[str, Any]:
    """The properties. Raises ``Undecodable`` for what is no JSON object."""
    try:
        found = json.loads(event.properties)
    except (ValueError, RecursionError) as error:
        raise Undecodable(f"its properties are no JSON: {error}") from error
    demand(isinstance(found, dict), "its properties are no JSON object")
    return dict(found)


def check_event(event: EventPublishedMessage) -> None:
    """Raise ``Undecodable`` for an event that is out of bounds."""
    size = len(event.properties)
    valid = len(event.topic) <= TOPIC_CHARS_MAX and bool(TOPIC.fullmatch(event.topic))
    demand(valid, f"{event.topic!r:.80} is not the topic of an event")
    demand(size <= PAYLOAD_BYTES_MAX, f"the properties have {size} bytes, and the most is {PAYLOAD_BYTES_MAX}")


def check_listeners(event: ListenersMessage) -> None:
    """Raise ``Undecodable`` for marks that are out of bounds."""
    for its in event.marks:
        demand(bool(NAME.fullmatch(its.name)), f"{its.name!r:.80} is not the name of a listener")
        for value in (its.next, its.time_ms, its.attempts, its.given_up, its.lost):
            demand(0 <= value <= JOB_MAX, f"the mark of {its.name!r} is out of bounds: {value}")
