"""Adding jobs within a transaction of the caller's database."""

from collections.abc import Iterable
from typing import Unpack

from callboard.board.jobs.job_spans import adding
from callboard.board.jobs.log_context import context_here
from callboard.board.jobs.methods import JobMethods
from callboard.board.jobs.new_job import NewJob, NewJobOptions, checked_jobs
from callboard.board.jobs.outbox.outbox import Outbox
from callboard.board.jobs.outbox.within import columns, write
from callboard.door import jobs as door


class Outboxing(JobMethods):
    """The methods of ``BoardJobs`` for the outbox: the table ``callboard_outbox`` in a PostgreSQL database."""

    async def add_within(
        self, connection: object, topic: str, payload: object = None, **options: Unpack[NewJobOptions]
    ) -> None:
        """Add a job within the open transaction of a connection: if that is rolled back, there is none.

        It is written to the table ``callboard_outbox`` of the connection's database. After the commit, a process with
        ``outbox``, or ``callboard run outbox``, adds it to the log. The board need not be open.

        Args:
            connection: of asyncpg, or a ``psycopg.AsyncConnection``. ``callboard.sync`` takes a
                ``psycopg.Connection``, or another one that has cursors, such as Django's.
            topic: of the job.
            payload: of the job.
            **options: as in ``NewJob``; ``delay_s`` counts from this call.

        Raises:
            RequestRefused: wrong options, a payload that cannot be stored, or a connection in no transaction.
            ConfigError: the table is not there.
        """
        await self.add_all_within(connection, [NewJob(**door.new_job(topic=topic, payload=payload, **options))])

    async def add_all_within(self, connection: object, jobs: Iterable[NewJob]) -> None:
        """Add jobs within the open transaction of a connection; see ``add_within``."""
        if given := checked_jobs(jobs):
            with adding(given) as span:
                await write(connection, columns(given, context_here(self._board.settings.job_context, span)))

    def outbox(self, url: str) -> Outbox:
        """The outbox in the database at the URL, ``postgresql://...``; ``?schema=`` names another one than ``public``.

        Raises:
            ConfigError, RequestRefused: the URL names no database.
        """
        return Outbox(self._board, self._read, door.asked(url=url)["url"])
