"""Checks the arguments of the methods of entities."""

from typing import Any

from callboard.actors.entities.deciding import EVENTS_MAX
from callboard.actors.entities.entity import Entity
from callboard.actors.entities.processes.process import Process
from callboard.door import limits
from callboard.door.rules import Rule, Unfit, checked, flag, number, optional, several, shown, text, whole
from callboard.errors import ConfigError, RequestRefused
from callboard.messages.declared.registry import declaration_of
from callboard.messages.event import Event


def command(value: Any) -> Event:
    """A declared event."""
    if not isinstance(value, Event) or declaration_of(type(value)) is None:
        raise Unfit(value, "a declared event, such as one of a class with @event")
    return value


ARGUMENTS: dict[str, Rule] = {
    "key": text(limits.ID_CHARS_MAX, least=1, printable=True),
    "command": command,
    "command_id": text(limits.ID_CHARS_MAX, printable=True),
    "version": optional(whole(0, limits.OFFSET_MAX)),
    "events": several(command, EVENTS_MAX, least=1),
    "after": optional(whole(-1, limits.OFFSET_MAX)),
    "timeout_s": number(0, limits.TIMEOUT_S_MAX),
}

OPTIONS: dict[str, Rule] = {
    "snapshots": text(limits.PLACE_CHARS_MAX), "in_memory": whole(1, limits.OFFSET_MAX), "runs": flag,
}  # fmt: skip


def asked(**given: Any) -> dict[str, Any]:
    """Arguments of the methods of entities. Raises ``RequestRefused``."""
    return checked(RequestRefused, ARGUMENTS, given)


def options(**given: Any) -> dict[str, Any]:
    """How entities are kept. Raises ``ConfigError``."""
    return checked(ConfigError, OPTIONS, given)


def entity_name(value: Any) -> str:
    """The declared name of a class of entities. Raises ``ConfigError`` if it is none."""
    if not isinstance(value, type) or not issubclass(value, Entity):
        raise ConfigError(f"{shown(value)} is no class of entities; write one as: class Account(Entity)")
    its = declaration_of(value)
    if its is None:
        raise ConfigError(
            f"the class {value.__name__} is not declared; write @event('bank.account', version=1) above it"
        )
    methods = (*(("todo",) if issubclass(value, Process) else ()), "decide", "evolve")
    for method in methods:
        if getattr(value, method) is getattr(Process, method):
            raise ConfigError(f"the class {value.__name__} has no {method}(); see docs/actors.md for what it does")
    try:
        value()
    except TypeError as error:
        raise ConfigError(f"a new {value.__name__} cannot be made: {error}; give each field a default") from error
    return its.name
