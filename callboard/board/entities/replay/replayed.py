"""One step of a replay."""

from collections.abc import Iterable
from dataclasses import dataclass, fields
from enum import Enum
from itertools import islice
from typing import Any

from callboard.actors.entities.processes.process import At, Task
from callboard.door.names import meant
from callboard.errors import RequestRefused
from callboard.messages.declared.registry import declaration_of
from callboard.messages.event import Event

COMPARED_MAX = 20_000
"""Keys that are compared with one that is unknown: each takes some microseconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Replayed:
    """A commit of an entity, and its state after that; or an event that changed a row, and the row after that.

    Attributes:
        topic: that it is on.
        offset: on the topic.
        time_ns: when it was appended, by the writer's clock: nanoseconds since the epoch.
        key: of the entity.
        version: of the entity, after the commit.
        command_id: that led to the commit; empty for a row.
        events: of the commit, in their newest versions, ``Deleted`` included; for a row, the one that changed it.
        refusal: why the command was refused, if the commit records that.
        code: of the refusal.
        state: of the entity, or the row; None if there is none any more.
        tasks: what a process has to do in this state.
        problem: why its tasks are not known.
    """

    topic: str
    offset: int
    time_ns: int
    key: str
    version: int
    command_id: str = ""
    events: tuple[Event, ...] = ()
    refusal: str = ""
    code: str = ""
    state: Event | None = None
    tasks: tuple[Task, ...] = ()
    problem: str = ""


def unknown_key(what: str, key: str, known: Iterable[str], count: int, to: int | None) -> RequestRefused:
    """The error for a key that is not on the log."""
    far = "" if to is None else f" up to offset {to}"
    advice = meant(key, islice(known, COMPARED_MAX), "check the key, and --log")
    return RequestRefused(f"there is no {what} {key!r} on this log{far}, among {count}; {advice}", code="unknown_name")


def replayed_data(step: Replayed) -> dict[str, Any]:
    """The step for JSON."""
    return {
        "topic": step.topic, "offset": step.offset, "time_ns": step.time_ns, "key": step.key, "version": step.version,
        "command_id": step.command_id, "events": [_data(each) for each in step.events], "refusal": step.refusal,
        "code": step.code, "state": _data(step.state), "tasks": [_task(each) for each in step.tasks],
        "problem": step.problem,
    }  # fmt: skip


def _task(task: Task) -> dict[str, Any]:
    where: dict[str, Any] = {"time_ns": task.time_ns} if isinstance(task, At) else {
        "entity": _name(task.entity), "key": task.key
    }  # fmt: skip
    return {"name": task.name, **where, "command": _data(task.command)}


def _name(cls: type[Event]) -> str:
    its = declaration_of(cls)
    return its.name if its else cls.__name__


def _data(value: Any) -> Any:
    """The value in the types of JSON: bytes in hexadecimal, enums by name, events with their declared names."""
    match value:
        case Event():
            names = [each.name for each in fields(value) if each.name != "unknown"]
            return {"name": _name(type(value)), "fields": {name: _data(getattr(value, name)) for name in names}}
        case Enum():
            return value.name
        case bytes():
            return value.hex()
        case tuple():
            return [_data(each) for each in value]
        case _:
            return value
