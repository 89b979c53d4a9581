"""Jobs without an event loop: adding, reading and commanding them, and running them."""

from collections.abc import Callable, Iterator, Mapping
from types import TracebackType
from typing import Self, Unpack

from callboard.board.jobs import board_jobs, worker
from callboard.board.jobs.board_jobs import DRAIN_S
from callboard.board.jobs.queues import QueueState
from callboard.board.member.options import MemberOptions
from callboard.sync.twin import Twin, waiting


class Worker(Twin[worker.Worker]):
    """See ``callboard.Worker``. Created by ``BoardJobs.worker``; runs jobs inside ``with``.

    If it cannot go on, the body of ``with`` is not cancelled, as a thread cannot be; the end of the body raises why.
    """

    start = waiting(worker.Worker.start)
    stop = waiting(worker.Worker.stop)
    ended = waiting(worker.Worker.ended)

    def __enter__(self) -> Self:
        self._loop.run(self._asynchronous.__aenter__())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._loop.run(self._asynchronous.__aexit__(kind, error, trace))


class BoardJobs(Twin[board_jobs.BoardJobs]):
    """See ``callboard.BoardJobs``. Created by ``Callboard.jobs``."""

    add = waiting(board_jobs.BoardJobs.add)
    add_all = waiting(board_jobs.BoardJobs.add_all)
    get = waiting(board_jobs.BoardJobs.get)
    find = waiting(board_jobs.BoardJobs.find)
    queues = waiting(board_jobs.BoardJobs.queues)
    wait = waiting(board_jobs.BoardJobs.wait)
    stop = waiting(board_jobs.BoardJobs.stop)
    drop = waiting(board_jobs.BoardJobs.drop)
    retry = waiting(board_jobs.BoardJobs.retry)
    suspend = waiting(board_jobs.BoardJobs.suspend)
    resume = waiting(board_jobs.BoardJobs.resume)
    configure = waiting(board_jobs.BoardJobs.configure)
    remove_queue = waiting(board_jobs.BoardJobs.remove_queue)
    schedule = waiting(board_jobs.BoardJobs.schedule)
    schedules = waiting(board_jobs.BoardJobs.schedules)
    unschedule = waiting(board_jobs.BoardJobs.unschedule)
    suspend_schedule = waiting(board_jobs.BoardJobs.suspend_schedule)
    resume_schedule = waiting(board_jobs.BoardJobs.resume_schedule)

    def watch(self) -> Iterator[tuple[QueueState, ...]]:
        """See ``callboard.BoardJobs.watch``. Blocks the thread that iterates."""
        return self._loop.each(self._asynchronous.watch())

    def worker(
        self,
        functions: Mapping[str, Callable[..., object]],
        *,
        slots: int = 10,
        drain_s: float = DRAIN_S,
        **options: Unpack[MemberOptions],
    ) -> Worker:
        """See ``callboard.BoardJobs.worker``. Functions that are no coroutines run in threads of their own."""
        return Worker(self._loop, self._asynchronous.worker(functions, slots=slots, drain_s=drain_s, **options))
