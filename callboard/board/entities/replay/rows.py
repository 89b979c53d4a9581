"""The history of one row of a projection."""

from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import dataclass, field, replace
from heapq import heappop, heappush
from typing import Any

from callboard.actors.entities.projections.batch import Batch, Cache, Folded
from callboard.actors.entities.projections.projection import Projection, Recorded
from callboard.actors.entities.projections.settings import ProjectorSettings
from callboard.actors.entities.projections.table_rows import ROWS, SEEN
from callboard.backends.log import Log
from callboard.board.entities.replay.replayed import Replayed, unknown_key
from callboard.board.entities.replay.whole_topic import whole_topic
from callboard.errors import Undecodable
from callboard.messages.event import Event
from callboard.messages.record import Record

TOGETHER_MAX = 500
"""Records that are folded at once."""


@dataclass(slots=True)
class Watch:
    """What the projection does with the row ``key``, and all keys that there are."""

    key: str
    steps: list[tuple[Recorded, Event | None, Event | None]] = field(default_factory=list)
    keys: set[str] = field(default_factory=set)

    def over(self, of: type[Projection[Any]]) -> type[Projection[Any]]:
        """The projection, with this row only."""

        def keys(projection: Projection[Any], recorded: Recorded) -> object:
            found: object = of.keys(projection, recorded)
            if isinstance(found, str | bytes) or not hasattr(found, "__iter__"):
                return found  # which is refused
            its = tuple(found)
            self.keys.update(each for each in its if isinstance(each, str))
            return [each for each in its if each == self.key or not isinstance(each, str)]

        def evolve(projection: Projection[Any], key: str, row: Event | None, recorded: Recorded) -> Event | None:
            after: Event | None = of.evolve(projection, key, row, recorded)
            self.steps.append((recorded, row, after))
            return after

        return type(of.__name__, (of,), {"keys": keys, "evolve": evolve})


async def replayed_rows(
    log: Log, settings: ProjectorSettings, key: str, start: int, to: int | None
) -> AsyncGenerator[Replayed, None]:
    """See ``replay``."""
    watch, cache = Watch(key), Cache({ROWS: {}, SEEN: {}})
    assert issubclass(settings.of, Projection)
    watched = replace(settings, of=watch.over(settings.of))
    async for topic, records in _together(log, settings, to):
        batch = Batch(watched, topic, tuple(records), records[-1].offset + 1)
        for table, keys in batch.keys().items():
            for each in keys:
                cache[table].setdefault(each, ())
        folded = batch.fold(cache)
        for step in _steps(watch, folded):
            if step.offset >= start:
                yield step
        if folded.problem:
            raise Undecodable(folded.problem)
        for table, rows in folded.rows.items():
            cache[table].update({each: () if row is None else row for each, row in rows.items()})
    if key not in watch.keys:
        raise unknown_key(f"row of {settings.of.__name__}", key, watch.keys, len(watch.keys), to)


def _steps(watch: Watch, folded: Folded) -> list[Replayed]:
    """What has changed the row, but for what failed in the end."""
    steps, watch.steps = watch.steps, []
    return [
        Replayed(
            topic=folded.topic, offset=its.offset, time_ns=its.time_ns, key=its.key, version=its.version,
            events=(its.event,), state=after,
        )
        for its, before, after in steps
        if before != after and its.offset < folded.following
    ]  # fmt: skip


async def _together(
    log: Log, settings: ProjectorSettings, to: int | None
) -> AsyncIterator[tuple[str, list[Record]]]:  # fmt: skip
    """The records of all topics by their times; those of one topic that follow each other, together."""
    topic, records = "", list[Record]()
    async for where, record in _by_time(log, settings, to):
        if records and (where != topic or len(records) == TOGETHER_MAX):
            yield topic, records
            records = []
        topic = where
        records.append(record)
    if records:
        yield topic, records


async def _by_time(log: Log, settings: ProjectorSettings, to: int | None) -> AsyncIterator[tuple[str, Record]]:
    readers = [(topic, whole_topic(log, topic, to, is_whole=entity is not None)) for topic, entity in settings.topics]
    waiting: list[tuple[int, int, Record]] = []  # the next record of each reader, by its time

    async def take(place: int) -> None:
        record = await anext(readers[place][1], None)
        if record is not None:
            heappush(waiting, (record.time_ns, place, record))

    for place in range(len(readers)):
        await take(place)
    while waiting:
        _, place, record = heappop(waiting)
        yield readers[place][0], record
        await take(place)
