"""What an event of an older version is today."""

from callboard.errors import Undecodable
from callboard.messages.declared.registry import Declaration, declaration_of, place_of, versions_of
from callboard.messages.event import Event


def newest(event: Event) -> Event:
    """The event in the newest version that this process declares.

    Raises ``Undecodable`` when an ``upcast`` fails, or returns anything but a later version of the event.
    """
    its = declaration_of(type(event))
    while its is not None and its.version < next(reversed(versions_of(its.name))):
        event, its = _later(event, its)
    return event


def _later(event: Event, its: Declaration) -> tuple[Event, Declaration]:
    upcast = f"{place_of(its.cls)}.upcast()"
    try:
        later = its.cls.upcast(event)  # type: ignore[attr-defined]  # older versions have it, see registry.register
    except Exception as error:
        raise Undecodable(f"{upcast} failed with {error!r:.200}; correct it, then read the record again") from error
    now = declaration_of(type(later))
    if now is None or now.name != its.name or now.version <= its.version:
        wanted = f"a later version of {its.name!r} than {its.version}"
        raise Undecodable(f"{upcast} returned {later!r:.80}, not {wanted}; correct it, then read the record again")
    return later, now
