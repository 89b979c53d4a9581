"""For the tests of services: a board in memory, with fleets, failures, and time that the test lets pass."""

from callboard.testing.boards.clock import Clock
from callboard.testing.boards.fleet import Fleet, FleetSubscriber, RunningFleet
from callboard.testing.boards.memory_board import MemoryBoard
from callboard.testing.boards.published import Published, assert_not_published, assert_published, published

__all__ = [
    "Clock",
    "Fleet",
    "FleetSubscriber",
    "MemoryBoard",
    "Published",
    "RunningFleet",
    "assert_not_published",
    "assert_published",
    "published",
]
