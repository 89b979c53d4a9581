"""Declared events inside other messages."""

from callboard.errors import SchemaTooNew, Undecodable
from callboard.messages import codec
from callboard.messages.declared.registry import declaration_of, versions_of
from callboard.messages.declared.upcasting import newest
from callboard.messages.entities.entity_messages import DeclaredEvent
from callboard.messages.event import Event


def sealed(event: Event) -> DeclaredEvent:
    """The event as part of a message. Raises ``TypeError`` if its class is not declared, or it cannot be encoded."""
    its = declaration_of(type(event))
    if its is None:
        raise TypeError(f"{type(event).__name__} is not declared; write @event(...) above the class")
    return DeclaredEvent(name=its.name, version=its.version, payload=codec.encode(event))


def opened(sealed_event: DeclaredEvent) -> Event:
    """The event, in the newest version that this process declares.

    Raises ``SchemaTooNew`` for a version that this process does not know yet, ``Undecodable`` for an unknown name, and
    for bytes that are not such an event.
    """
    name, version = sealed_event.name, sealed_event.version
    known = versions_of(name)
    if not known:
        raise Undecodable(f"this process declares no event {name!r:.120}; import the module that does")
    latest = next(reversed(known))
    if (its := known.get(version)) is None:
        if version > latest:
            raise SchemaTooNew(f"an event {name!r} has version {version}, and this process knows {latest}; upgrade it")
        raise Undecodable(f"this process no longer declares version {version} of {name!r}; declare it, with an upcast")
    event = codec.decode(its.cls, sealed_event.payload)
    return event if version == latest else newest(event)
