"""The same for services without an event loop."""

from collections.abc import Iterable
from datetime import datetime
from typing import Unpack

from callboard.board.connect.subscriber_options import SubscriberOptions
from callboard.sync import Callboard, Subscriber
from callboard.sync.twin import EventLoop, Twin, WithLoop, given, waiting
from callboard.testing.boards import clock, fleet, memory_board


class Clock(Twin[clock.Clock]):
    """See ``callboard.testing.boards.Clock``."""

    advance = waiting(clock.Clock.advance)

    @property
    def now(self) -> datetime:
        """What it shows, in UTC."""
        return self._asynchronous.now


class Fleet(fleet.Fleet[Subscriber]):
    """See ``callboard.testing.boards.Fleet``."""

    def __init__(self, loop: EventLoop, asynchronous: fleet.RunningFleet) -> None:
        super().__init__([each.over(Subscriber(loop, each.subscriber)) for each in asynchronous])
        self._loop, self._asynchronous = loop, asynchronous

    def deliver_all(self, timeout_s: float = fleet.DELIVER_S) -> None:
        """See ``callboard.testing.boards.RunningFleet``."""
        self._loop.run(self._asynchronous.deliver_all(timeout_s))


class MemoryBoard(WithLoop[memory_board.MemoryBoard]):
    """See ``callboard.testing.boards.MemoryBoard``, which takes the same arguments. Use it inside ``with``."""

    @given(memory_board.MemoryBoard)
    def __init__(self, asynchronous: memory_board.MemoryBoard) -> None:
        super().__init__(EventLoop(), asynchronous)
        self.board = Callboard.over(self._loop, asynchronous.board)
        """The board, for the service's code."""
        self.clock = Clock(self._loop, asynchronous.clock)
        """The time on the board."""

    run_jobs = waiting(memory_board.MemoryBoard.run_jobs)

    def fleet(self, names: int | Iterable[str] = 1, **options: Unpack[SubscriberOptions]) -> Fleet:
        """See ``callboard.testing.boards.MemoryBoard.fleet``."""
        return Fleet(self._loop, self._loop.run(self._asynchronous.fleet(names, **options)))
