"""Checks the arguments of the methods of entities."""

from typing import Any

from callboard.actors.entities.entity import Entity
from callboard.door import limits
from callboard.door.rules import Rule, Unfit, checked, number, optional, text, whole
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
    "after": optional(whole(-1, limits.OFFSET_MAX)),
    "timeout_s": number(0, limits.TIMEOUT_S_MAX),
}


def asked(**given: Any) -> dict[str, Any]:
    """Arguments of the methods of entities. Raises ``RequestRefused``."""
    return checked(RequestRefused, ARGUMENTS, given)


def entity_name(value: Any) -> str:
    """The declared name of a class of entities. Raises ``ConfigError`` if it is none."""
    if not isinstance(value, type) or not issubclass(value, Entity):
        raise ConfigError(f"{value!r:.80} is no class of entities; write one as: class Account(Entity)")
    its = declaration_of(value)
    if its is None:
        raise ConfigError(
            f"the class {value.__name__} is not declared; write @event('bank.account', version=1) above it"
        )
    for method in ("decide", "evolve"):
        if getattr(value, method) is getattr(Entity, method):
            raise ConfigError(f"the class {value.__name__} has no {method}(); see docs/actors.md for what it does")
    try:
        value()
    except TypeError as error:
        raise ConfigError(f"a new {value.__name__} cannot be made: {error}; give each field a default") from error
    return its.name
