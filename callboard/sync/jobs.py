"""Jobs without an event loop: adding, reading and commanding them, and running them."""

from collections.abc import Iterable
from typing import Unpack

from callboard.board.jobs import board_jobs
from callboard.board.jobs.job_spans import adding
from callboard.board.jobs.log_context import context_here
from callboard.board.jobs.new_job import NewJob, NewJobOptions, checked_jobs
from callboard.board.jobs.outbox import outbox
from callboard.board.jobs.outbox.within import columns, write_blocking
from callboard.board.jobs.work import worker
from callboard.board.timers import timers
from callboard.door import jobs as door
from callboard.sync.twin import InWith, Twin, iterating, making, on_loop, waiting


class Worker(InWith[worker.Worker]):
    """See ``callboard.Worker``. Created by ``BoardJobs.worker``; runs jobs inside ``with``.

    If it cannot go on, the body of ``with`` is not cancelled, as a thread cannot be; the end of the body raises why.
    """

    start = waiting(worker.Worker.start)
    stop = waiting(worker.Worker.stop)
    ended = waiting(worker.Worker.ended)
    pause = waiting(worker.Worker.pause)
    resume = waiting(worker.Worker.resume)


class Timers(InWith[timers.Timers]):
    """See ``callboard.Timers``. Created by ``BoardJobs.timers``; calls functions inside ``with``."""

    set = on_loop(timers.Timers.set)
    remove = on_loop(timers.Timers.remove)
    timers = on_loop(timers.Timers.timers)


class Outbox(InWith[outbox.Outbox]):
    """See ``callboard.Outbox``. Created by ``BoardJobs.outbox``; brings jobs to the log inside ``with``."""

    create = waiting(outbox.Outbox.create)
    state = waiting(outbox.Outbox.state)
    ended = waiting(outbox.Outbox.ended)
    start = waiting(outbox.Outbox.start)
    stop = waiting(outbox.Outbox.stop)


class BoardJobs(Twin[board_jobs.BoardJobs]):
    """See ``callboard.BoardJobs``. Created by ``Callboard.jobs``."""

    add = waiting(board_jobs.BoardJobs.add)
    add_all = waiting(board_jobs.BoardJobs.add_all)
    batch = waiting(board_jobs.BoardJobs.batch)
    plan = waiting(board_jobs.BoardJobs.plan)
    get = waiting(board_jobs.BoardJobs.get)
    find = waiting(board_jobs.BoardJobs.find)
    queues = waiting(board_jobs.BoardJobs.queues)
    workers = waiting(board_jobs.BoardJobs.workers)
    wait = waiting(board_jobs.BoardJobs.wait)
    stop = waiting(board_jobs.BoardJobs.stop)
    drop = waiting(board_jobs.BoardJobs.drop)
    drop_all = waiting(board_jobs.BoardJobs.drop_all)
    remove_all = waiting(board_jobs.BoardJobs.remove_all)
    retry_all = waiting(board_jobs.BoardJobs.retry_all)
    statistics = waiting(board_jobs.BoardJobs.statistics)
    forget = waiting(board_jobs.BoardJobs.forget)
    retry = waiting(board_jobs.BoardJobs.retry)
    suspend = waiting(board_jobs.BoardJobs.suspend)
    resume = waiting(board_jobs.BoardJobs.resume)
    configure = waiting(board_jobs.BoardJobs.configure)
    remove_queue = waiting(board_jobs.BoardJobs.remove_queue)
    schedule = waiting(board_jobs.BoardJobs.schedule)
    schedules = waiting(board_jobs.BoardJobs.schedules)
    next_ticks = waiting(board_jobs.BoardJobs.next_ticks)
    run_schedule = waiting(board_jobs.BoardJobs.run_schedule)
    unschedule = waiting(board_jobs.BoardJobs.unschedule)
    suspend_schedule = waiting(board_jobs.BoardJobs.suspend_schedule)
    resume_schedule = waiting(board_jobs.BoardJobs.resume_schedule)
    history = waiting(board_jobs.BoardJobs.history)
    events = iterating(board_jobs.BoardJobs.events)
    watch = iterating(board_jobs.BoardJobs.watch)
    worker = making(Worker, board_jobs.BoardJobs.worker)
    timers = making(Timers, board_jobs.BoardJobs.timers)
    outbox = making(Outbox, board_jobs.BoardJobs.outbox)

    def add_within(
        self, connection: object, topic: str, payload: object = None, **options: Unpack[NewJobOptions]
    ) -> None:
        """See ``callboard.BoardJobs.add_within``. Takes a ``psycopg.Connection``, or another one that has cursors."""
        self.add_all_within(connection, [NewJob(**door.new_job(topic=topic, payload=payload, **options))])

    def add_all_within(self, connection: object, jobs: Iterable[NewJob]) -> None:
        """Add jobs within the open transaction of a connection; see ``add_within``."""
        if given := checked_jobs(jobs):
            names = self._asynchronous._board.settings.job_context  # noqa: SLF001 - the calling thread has the context
            with adding(given) as span:
                write_blocking(connection, columns(given, context_here(names, span)))
