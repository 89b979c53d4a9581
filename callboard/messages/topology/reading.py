"""Reads records of the control topic."""

from dataclasses import dataclass
from enum import Enum
from functools import lru_cache

from callboard.errors import SchemaTooNew, Undecodable
from callboard.messages.headers import open_record
from callboard.messages.record import Record
from callboard.messages.topology.control_messages import CONTROL_MESSAGES
from callboard.messages.topology.limits import check_event
from callboard.messages.topology.member_event import MemberEvent

_TYPES = frozenset(message.__name__ for message in CONTROL_MESSAGES)

RECENT = 4000
"""Records whose messages are kept: all members of a process read the same ones, within seconds of each other."""


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


@lru_cache(maxsize=RECENT)
def read(record: Record) -> MemberEvent | Unread:
    """The message in the record, if it is within the limits. Never raises."""
    try:
        event = open_record(record, CONTROL_MESSAGES)
        check_event(event)
    except SchemaTooNew as error:
        return Unread(Problem.TOO_NEW, str(error))
    except Undecodable as error:
        known = record.header("type") in _TYPES
        return Unread(Problem.UNREADABLE if known else Problem.UNKNOWN_TYPE, str(error))
    return event
