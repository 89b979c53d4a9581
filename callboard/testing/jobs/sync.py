"""The same for services without an event loop."""

from datetime import datetime

from callboard.sync import Callboard
from callboard.sync.twin import EventLoop, WithLoop, given, waiting
from callboard.testing.jobs import job_board


class JobBoard(WithLoop[job_board.JobBoard]):
    """See ``callboard.testing.jobs.JobBoard``, which takes the same arguments. Use it inside ``with``."""

    @given(job_board.JobBoard)
    def __init__(self, asynchronous: job_board.JobBoard) -> None:
        super().__init__(EventLoop(), asynchronous)
        self.board = Callboard.over(self._loop, asynchronous.board)
        """The board, for the service's code."""

    added = waiting(job_board.JobBoard.added)
    run_jobs_inline = waiting(job_board.JobBoard.run_jobs_inline)
    advance = waiting(job_board.JobBoard.advance)

    @property
    def now(self) -> datetime:
        """What the clock shows, in UTC."""
        return self._asynchronous.now
