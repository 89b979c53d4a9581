"""What the methods of ``BoardJobs`` have in common: they read the job topic to its end, and append to it."""

from callboard.board.context import BoardContext
from callboard.board.jobs.reading import JobReading
from callboard.errors import TopicMissing
from callboard.messages.event import Event
from callboard.messages.headers import new_record
from callboard.messages.jobs.limits import check_message
from callboard.messages.topics import job_topic


class JobMethods:
    """The base of the classes with the methods of ``BoardJobs``."""

    def __init__(self, board: BoardContext) -> None:
        self._board = board
        self._topic = job_topic(board.settings.prefix)

    async def _read(self) -> JobReading:
        return await jobs_of(self._board)

    async def _append(self, message: Event, author: str) -> dict[int, str]:
        """Append the message; returns what it did not do."""
        check_message(message)
        await self._read()  # what a record did not do is only known to those who have read up to it
        log, number, now_ns = self._board.log, self._board.new_id(), self._board.now_ns()
        record = new_record(message, record_id=number, time_ns=now_ns, producer=author, key=number)
        try:
            [offset] = await log.append(self._topic, [record])
        except TopicMissing:
            await log.ensure(self._topic)
            [offset] = await log.append(self._topic, [record])
        return (await self._read()).refusals.get(offset, {})


async def jobs_of(board: BoardContext) -> JobReading:
    """The jobs on the board's log, read to its end."""
    if board.jobs is None or board.jobs.log is not board.log:
        board.jobs = JobReading(board.log, job_topic(board.settings.prefix))
    return await board.jobs.catch_up()
