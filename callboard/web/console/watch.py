"""Reads the board at intervals, once for all pages that are open."""

import asyncio
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING
from weakref import WeakSet

from callboard.board.read.status.status import members
from callboard.board.topology.view import ClusterReport
from callboard.board.views import BoardStatus
from callboard.errors import CallboardError
from callboard.web.console.plots.history import History

if TYPE_CHECKING:
    from callboard.board.board import Callboard
    from callboard.board.jobs.health.report import WorkerState
    from callboard.board.jobs.queues import QueueState

READ_S = 2.0
"""Between two readings while somebody looks."""

IDLE_S = 10.0
"""The same while nobody does, for the plots."""

ANSWER_S = 5.0
"""How long a reading may take. After that, pages say that the log cannot be reached."""

FIRST_S = 10.0
"""How long the first page waits for the first reading."""

FRESH_S = 1.0
"""How long a page waits for a new reading while the last one is old."""


NOTHING = BoardStatus((), ())


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The board at ``time_ns``, the ``number``-th reading. If it could not be read since ``problem_ns``, ``problem``
    says why, and everything else is from before; ``time_ns`` is 0 if nothing was ever read. ``history`` has samples of
    earlier readings.
    """

    number: int = 0
    time_ns: int = 0
    status: BoardStatus = NOTHING
    queues: "tuple[QueueState, ...]" = ()
    workers: "tuple[WorkerState, ...]" = ()
    cluster: ClusterReport | None = None
    problem: str = ""
    problem_ns: int = 0
    history: History = field(default_factory=History, compare=False)


WATCHES: "WeakSet[Watch]" = WeakSet()
"""All in this process, so that those of a board can be stopped with it."""


class Watch:
    """The newest reading of an open board. Readings begin with ``start`` or a question, and end with ``stop``."""

    def __init__(self, board: "Callboard", *, read_s: float = READ_S, idle_s: float = IDLE_S) -> None:
        self.board = board
        WATCHES.add(self)
        self._read_s = read_s
        self._idle_s = idle_s
        self._snapshot = Snapshot()
        self._lookers = 0
        self._read_at_s = 0.0
        self._changed = asyncio.Condition()
        self._wanted = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def now(self) -> Snapshot:
        """The newest reading; waits for the first one, and a moment for a new one if nobody has looked for a while."""
        if not self._snapshot.number:
            return await self.after(0, FIRST_S)
        is_old = asyncio.get_running_loop().time() - self._read_at_s > 2 * self._read_s
        return await self.after(self._snapshot.number, FRESH_S) if is_old else self._snapshot

    async def after(self, number: int, timeout_s: float) -> Snapshot:
        """The first reading after this one, or the newest if none comes in time."""
        self.start()
        self._lookers += 1
        self._wanted.set()
        try:
            async with asyncio.timeout(timeout_s), self._changed:
                await self._changed.wait_for(lambda: self._snapshot.number > number)
        except TimeoutError:
            pass  # none came
        finally:
            self._lookers -= 1
        return self._snapshot

    async def stop(self) -> None:
        """End the readings."""
        if self._task:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    def start(self) -> None:
        """Begin to read, if that has not begun."""
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._read_always())

    async def _read_always(self) -> None:
        while True:
            snapshot = await self._read()
            async with self._changed:
                self._snapshot, self._read_at_s = snapshot, asyncio.get_running_loop().time()
                self._changed.notify_all()
            await self._rest()

    async def _rest(self) -> None:
        """Until the next reading is due."""
        await asyncio.sleep(self._read_s)
        if not self._lookers:
            self._wanted.clear()
            try:
                async with asyncio.timeout(max(0.0, self._idle_s - self._read_s)):
                    await self._wanted.wait()
            except TimeoutError:
                pass

    async def _read(self) -> Snapshot:
        before, now_ns = self._snapshot, self.board.context.now_ns()
        try:
            async with asyncio.timeout(ANSWER_S):
                return await self._reading(before.number + 1, now_ns)
        except (CallboardError, TimeoutError) as error:
            problem = str(error) or f"the log has not answered within {ANSWER_S:g} s"
            since_ns = before.problem_ns if before.problem else now_ns
            return replace(before, number=before.number + 1, problem=problem, problem_ns=since_ns)

    async def _reading(self, number: int, now_ns: int) -> Snapshot:
        board, history = self.board, self._snapshot.history
        status = await board.status(timeout_s=ANSWER_S / 2)  # long queues are counted for this long, then the next time
        if status.problem:
            raise CallboardError(status.problem)
        found = Snapshot(
            number, now_ns, status, await board.jobs.queues(), await board.jobs.workers(),
            await board.topology.view(), history=history,
        )  # fmt: skip
        if history.is_due(now_ns / 1e9):
            fleet = await members(await board.context.viewer(), "", ANSWER_S)
            announced = [each.announcement for each in fleet]
            history.take(now_ns / 1e9, status, found.queues, await board.jobs.statistics(), announced)
        return found
