"""Folds the log again, in memory, to show how an entity or a row came to be what it is. Writes nothing."""

from collections.abc import AsyncGenerator, Iterator
from typing import Any

from callboard.actors.entities.entity import Deleted, Entity
from callboard.actors.entities.held import Held
from callboard.actors.entities.processes.tasks import todo
from callboard.actors.entities.projections.projection import Projection
from callboard.backends.log import Log
from callboard.board.context import BoardContext
from callboard.board.entities.replay.replayed import Replayed, unknown_key
from callboard.board.entities.replay.rows import replayed_rows
from callboard.board.entities.replay.whole_topic import whole_topic
from callboard.door.actors import projections as projections_door
from callboard.door.actors.entities import entity_name
from callboard.door.limits import OFFSET_MAX
from callboard.door.rules import Rule, checked, optional, shown, whole
from callboard.errors import ConfigError, RequestRefused, SchemaTooNew, Undecodable
from callboard.messages.entities.entity_messages import DeclaredEvent, EntityCommitMessage
from callboard.messages.entities.sealing import opened
from callboard.messages.event import Event
from callboard.messages.reading import understood
from callboard.messages.record import Record
from callboard.messages.topics import entity_topic

ARGUMENTS: dict[str, Rule] = {
    "key": projections_door.row_key,
    "start": whole(0, OFFSET_MAX),
    "to": optional(whole(0, OFFSET_MAX)),
}


def replay(
    board: BoardContext, of: type[Any], key: str, *, start: int = 0, to: int | None = None
) -> AsyncGenerator[Replayed, None]:
    """See ``Callboard.replay``."""
    its = checked(RequestRefused, ARGUMENTS, {"key": key, "start": start, "to": to})
    if isinstance(of, type) and issubclass(of, Projection):
        settings = projections_door.projection(of, board.settings.prefix)
        if len(settings.topics) > 1 and (to is not None or start):
            what = f"{of.__name__} has {len(settings.topics)} topics, and an offset is a place on one of them"
            raise RequestRefused(f"{what}; leave it out")
        return replayed_rows(board.log, settings, **its)
    if not (isinstance(of, type) and issubclass(of, Entity)):
        raise ConfigError(f"{shown(of)} has no state to replay; name a class of Entity, Process or Projection")
    return _replayed(board.log, of, entity_topic(entity_name(of), board.settings.prefix), **its)


async def _replayed(
    log: Log, entity: type[Entity], topic: str, key: str, start: int, to: int | None
) -> AsyncGenerator[Replayed, None]:
    held, keys = Held(entity()), set[str]()
    async for record in whole_topic(log, topic, to):
        commit = understood(record, (EntityCommitMessage,), lambda _: None)
        if commit is None:
            continue
        keys.add(commit.key)
        if commit.key != key or not held.counts(commit, record.offset):
            continue
        step = _step(held, commit, record, topic)
        if record.offset >= start:
            yield step
    if key not in keys:
        raise unknown_key(entity.__name__, key, keys, len(keys), to)


def _step(held: Held, commit: EntityCommitMessage, record: Record, topic: str) -> Replayed:
    """Apply the commit. Raises ``SchemaTooNew`` or ``Undecodable`` if that fails."""
    events = list[Event]()
    held.apply(commit, _opened(commit.events, events), record.offset)
    if held.problem:
        raise (SchemaTooNew if held.code == "schema_too_new" else Undecodable)(held.problem)
    tasks, problem = todo(commit.key, held)
    return Replayed(
        topic=topic, offset=record.offset, time_ns=record.time_ns, key=commit.key, version=held.version,
        command_id=commit.command_id, events=(*events, *((Deleted(),) if commit.ended else ())),
        refusal=commit.reason, code=commit.code, state=held.state if held.exists else None,
        tasks=tuple(tasks.values()), problem=problem,
    )  # fmt: skip


def _opened(sealed: tuple[DeclaredEvent, ...], events: list[Event]) -> Iterator[Event]:
    for each in sealed:
        events.append(opened(each))
        yield events[-1]
