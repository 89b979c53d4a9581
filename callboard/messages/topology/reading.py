"""Reads records of the control topic."""

from functools import lru_cache

from callboard.messages import reading
from callboard.messages.reading import Unread
from callboard.messages.record import Record
from callboard.messages.topology.control_messages import CONTROL_MESSAGES
from callboard.messages.topology.limits import check_event
from callboard.messages.topology.member_event import MemberEvent

RECENT = 4000
"""Records whose messages are kept: all members of a process read the same ones, within seconds of each other."""


@lru_cache(maxsize=RECENT)
def read(record: Record) -> MemberEvent | Unread:
    """The message in the record, if it is within the limits. Never raises."""
    return reading.read(record, CONTROL_MESSAGES, check_event)
