"""How far a fold has read its topics, as the text that its store keeps."""

import json
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from callboard.messages.entities.entity_messages import FoldPlace


class Place(NamedTuple):
    """The next offset to read of a topic, and the incarnation that it belongs to."""

    log_id: str
    next: int


Places = Mapping[str, Place]


def written(places: Places) -> str:
    """The places by their topics, as text; the same for the same places."""
    return json.dumps(places, sort_keys=True) if places else ""


def read(mark: str) -> dict[str, Place]:
    """The places in a mark; none if it cannot be read, so that everything is read again."""
    try:
        return {topic: Place(str(log_id), int(offset)) for topic, (log_id, offset) in json.loads(mark or "{}").items()}
    except (AttributeError, TypeError, ValueError):
        return {}


def told(topics: Iterable[tuple[str, object]], places: Places) -> tuple[FoldPlace, ...]:
    """The places on these topics, for those who ask."""
    read = ((topic, places.get(topic, Place("", 0))) for topic, _ in topics)
    return tuple(FoldPlace(topic=topic, log_id=at.log_id, next=at.next) for topic, at in read)
