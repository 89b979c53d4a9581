"""Where the records of a departing member end."""

from collections.abc import Iterable

from callboard.actors.core.decision import Done, Effect, Failed, Input
from callboard.actors.core.effects import FindBounds, TopicBounds
from callboard.errors import TopicMissing
from callboard.messages.topology.cluster_state import Barrier


class BarrierReading:
    """Reads the ends of the streams, all at once. A stream that does not exist needs no barrier."""

    def __init__(self, streams: tuple[str, ...]) -> None:
        self._streams = streams
        self._ends: dict[str, Barrier | None] = {}
        self._is_reading = False
        self._round = 0

    def read(self) -> Iterable[Effect]:
        """Begin, unless it has begun."""
        if not self._is_reading:
            self._is_reading = True
            self._round += 1
            yield from (FindBounds(topic, owner=str(self._round)) for topic in self._streams)

    def forget(self) -> None:
        """Read again for the next use, and after a failure."""
        self._is_reading = False
        self._ends.clear()

    def take(self, message: Input) -> None:
        """Note an answer, unless it is to an earlier reading."""
        match message:
            case Done(FindBounds(topic=topic, owner=owner), TopicBounds() as its) if owner == str(self._round):
                self._ends[topic] = Barrier(topic=topic, log_id=its.log_id, offset=its.end)
            case Failed(FindBounds(topic=topic, owner=owner), TopicMissing()) if owner == str(self._round):
                self._ends[topic] = None

    @property
    def found(self) -> tuple[Barrier, ...] | None:
        """The barriers, once all are known."""
        if len(self._ends) < len(self._streams):
            return None
        return tuple(barrier for barrier in self._ends.values() if barrier)
