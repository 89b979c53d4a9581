"""Reads records of which every reader must make the same."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import TypeVar

from callboard.errors import SchemaTooNew, Undecodable
from callboard.messages.event import Event
from callboard.messages.headers import open_record
from callboard.messages.record import Record

E = TypeVar("E", bound=Event)


class Problem(Enum):
    """Why a record cannot be read."""

    UNKNOWN_TYPE = "unknown_type"
    UNREADABLE = "unreadable"
    TOO_NEW = "too_new"


@dataclass(frozen=True, slots=True)
class Unread:
    """A record that cannot be read. Records that are damaged, untrusted or of unknown type do nothing. A record of a
    newer major version may have any effect, so the reader must stop.
    """

    problem: Problem
    detail: str


def read(record: Record, messages: tuple[type[E], ...], check: Callable[[E], None]) -> E | Unread:
    """The message in the record, if ``check`` raises no ``Undecodable``. Never raises."""
    try:
        event = open_record(record, messages)
        check(event)
    except SchemaTooNew as error:
        return Unread(Problem.TOO_NEW, str(error))
    except Undecodable as error:
        known = record.header("type") in {message.__name__ for message in messages}
        return Unread(Problem.UNREADABLE if known else Problem.UNKNOWN_TYPE, str(error))
    return event


def understood(record: Record, messages: tuple[type[E], ...], check: Callable[[E], None]) -> E | None:
    """The message in the record, or None if it does nothing. Raises ``SchemaTooNew``: it may do anything."""
    event = read(record, messages, check)
    if not isinstance(event, Unread):
        return event
    if event.problem is Problem.TOO_NEW:
        raise SchemaTooNew(event.detail)
    return None
