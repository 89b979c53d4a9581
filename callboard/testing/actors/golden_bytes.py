"""The bytes of an event, written down in a test, so that no change of its class makes older records unreadable."""

from callboard.errors import Undecodable
from callboard.messages.codec import decode, encode
from callboard.messages.declared.upcasting import newest
from callboard.messages.event import Event


def golden(event: Event) -> str:
    """The event's bytes in hexadecimal, for ``assert_golden``."""
    return encode(event).hex()


def assert_golden(event: Event, expected: str) -> None:
    """Check that the event is written as these bytes, given in hexadecimal, and that they are read as the event.

    An event of an older version must also have an ``upcast`` that works.

    Raises:
        AssertionError: They are not. Records of this version have these bytes: undo the change, or declare a new
            version with it.
    """
    name = type(event).__name__
    if (written := golden(event)) != expected:
        what = f"{name} is written as {written}, and was as {expected}"
        raise AssertionError(f"{what}; undo the change of its fields, or declare a new version")
    try:
        read = decode(type(event), bytes.fromhex(expected))
        newest(read)
    except Undecodable as error:
        raise AssertionError(f"{name} cannot be read from {expected}: {error}") from error
    if read != event:
        raise AssertionError(f"{expected} is read as {read}, not as {event}; undo the change of its fields")
