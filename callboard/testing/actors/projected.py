"""What events make of a table, and what a reaction does about them, without a log and a database."""

from collections.abc import Iterable
from random import Random
from typing import Any, TypeVar, cast

from callboard.actors.entities.entity import Deleted, Entity
from callboard.actors.entities.processes.process import Ask
from callboard.actors.entities.projections.batch import Batch, Cache, Folded
from callboard.actors.entities.projections.projection import Projection, Reaction
from callboard.actors.entities.projections.settings import ProjectorSettings
from callboard.actors.entities.projections.table_rows import ROWS, Columns
from callboard.door.actors import entities as entities_door
from callboard.door.actors import projections as door
from callboard.errors import ConfigError
from callboard.messages.entities.entity_messages import EntityCommitMessage
from callboard.messages.entities.sealing import sealed
from callboard.messages.event import Event
from callboard.messages.headers import new_record
from callboard.messages.record import Record
from callboard.messages.topics import PREFIX
from callboard.testing.actors.given import NOW, ns_of
from callboard.testing.actors.purity import watched
from callboard.testing.actors.rehearsal import Rehearsal, shown
from callboard.testing.actors.story import Story, chosen, told

R = TypeVar("R", bound=Event)

Told = tuple[str, Event]
"""The key of an entity, and what has happened to it."""


def rows_of(projection: type[Projection[R]], *events: Told, source: type[Entity] | None = None) -> dict[str, R]:
    """The rows that a projection makes of these events, by their keys.

    It needs no event loop, no log and no database: ``rows_of(Balances, ("alice", Moved(cents=5)))``. The events are
    folded in one batch and one by one, and the result must be the same.

    Args:
        projection: its class.
        events: of entities, in the order of the log: their keys, and what has happened. Each is a commit of its own.
        source: the class of the entities; by default the only one that the projection has.

    Raises:
        ConfigError: wrong arguments.
        AssertionError: an event cannot be folded, or a row not be stored; or the projection is not pure.
    """
    settings = door.projection(projection, PREFIX)
    topic = _source(settings, source)
    return cast("dict[str, R]", _rows(settings, topic, _records(events)))


def asks_of(reaction: type[Reaction], *events: Told, source: type[Entity] | None = None) -> list[Ask]:
    """The commands that a reaction sends on these events. Takes and raises the same as ``rows_of``."""
    settings = door.reaction(reaction, PREFIX)
    topic = _source(settings, source)
    return [ask for _, ask in _folded(settings, topic, _records(events), {}).asks]


def check_projection(
    projection: type[Projection[Any]], story: Story, *, seeds: int = 200, seed: int | None = None
) -> None:
    """Check that a projection can be made of the events that a story leads to, in any batches that they are read.

    Takes and raises the same as ``check_entity``; the story has commands to the entities that are its sources.
    """
    settings = door.projection(projection, PREFIX)
    many = 0
    for each in chosen(seeds, seed):
        for topic, entity in settings.topics:
            if entity is None:
                continue
            records = _told_records(entity, story, each)
            many += len(records)
            try:
                _rows(settings, topic, records, Random(f"{each} batches"))  # noqa: S311 - reproducible, not secret
            except AssertionError as error:
                raise AssertionError(f"{error}\nrun it again with seed={each}") from error
    if not many:
        raise ConfigError(
            f"no seed has an event for {projection.__name__}; let the story yield more, or run more seeds"
        )


def _source(settings: ProjectorSettings, source: type[Entity] | None) -> str:
    found = [topic for topic, entity in settings.topics if entity is not None and source in (None, entity)]
    if len(found) != 1:
        names = ", ".join(topic for topic, _ in settings.topics)
        raise ConfigError(f"{settings.of.__name__} has the sources {names}; give one of its classes: source=Account")
    return found[0]


def _records(events: Iterable[Told]) -> list[Record]:
    """The events as commits on a log."""
    versions: dict[str, int] = {}
    records = []
    for number, each in enumerate(events, 1):
        if not isinstance(each, tuple) or len(each) != 2:
            raise ConfigError(f"event {number} is {each!r:.80}; give its key and the event: ('alice', Moved(cents=5))")
        key, event = entities_door.asked(key=each[0])["key"], each[1]
        version, ended = versions.get(key, 0), isinstance(event, Deleted)
        told = () if ended else (sealed(entities_door.asked(command=event)["command"]),)
        commit = EntityCommitMessage(
            key=key, commit_id=version + 1, previous=version, version=version, command_id=f"event {number}",
            events=told, ended=ended,
        )  # fmt: skip
        versions[key] = version + 1
        records.append(_record(commit, number))
    return records


def _record(commit: EntityCommitMessage, offset: int) -> Record:
    time_ns = ns_of(NOW) + offset
    return new_record(commit, record_id=f"test/{offset}", time_ns=time_ns, producer="test").at(offset, time_ns)


def _told_records(entity: type[Entity], story: Story, seed: int) -> list[Record]:
    """The commits that a story leads to."""
    kept: dict[str, Rehearsal] = {}
    records: list[Record] = []
    for its, key, command in told(story, seed):
        if its is not entity:
            continue
        rehearsal = kept.setdefault(key, Rehearsal(entity, key))
        before = len(rehearsal.commits)
        rehearsal.carry_out(command, ns_of(NOW))
        records += [_record(commit, len(records) + 1) for commit in rehearsal.commits[before:]]
    return records


def _rows(
    settings: ProjectorSettings, topic: str, records: list[Record], rng: Random | None = None
) -> dict[str, Event]:
    assert settings.row is not None
    columns = Columns(settings.row)
    cache: Cache = {}
    at_once: Cache = {}
    many = rng.randint(1, len(records)) if rng and records else 1
    for begin in range(0, len(records), many):
        _folded(settings, topic, records[begin : begin + many], cache).remember(cache)
    _folded(settings, topic, records, at_once).remember(at_once)
    found = {key: columns.loaded(row) for key, row in at_once.get(ROWS, {}).items() if row}
    other = {key: columns.loaded(row) for key, row in cache.get(ROWS, {}).items() if row}
    if found != other:
        key = next(key for key in found.keys() | other.keys() if found.get(key) != other.get(key))
        rows = f"{shown(found.get(key))}, and in other batches {shown(other.get(key))}"
        raise AssertionError(f"the row {key!r} of {settings.of.__name__} is {rows}; evolve must be pure")
    return found


def _folded(settings: ProjectorSettings, topic: str, records: list[Record], cache: Cache) -> Folded:
    with watched() as called:
        batch = Batch(settings, topic, tuple(records), len(records) + 1)
        for table, keys in batch.keys().items():
            known = cache.setdefault(table, {})
            for key in keys:
                known.setdefault(key, ())
        folded = batch.fold(cache)
    if called:
        raise AssertionError(f"{settings.of.__name__} calls {called[0]}(); it must be pure")
    if folded.problem:
        raise AssertionError(folded.problem)
    return folded
