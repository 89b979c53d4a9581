"""The processes in which a worker calls functions that could bring it down, or never return."""

import asyncio
import os
import pickle
import signal
import socket
import sys
from asyncio.subprocess import Process
from contextlib import suppress

from callboard.board.jobs.work.child import SIZE_BYTES, Call, Said
from callboard.board.jobs.work.deadline import Deadline
from callboard.board.jobs.work.ending import Ending
from callboard.board.jobs.work.running_job import RunningJob
from callboard.logger import get_logger
from callboard.messages.jobs.progress_messages import JobProgress

START_S = 60.0
"""Seconds for a process to start and import the function; this does not count as the job's time."""

STOP_S = 10.0
"""Seconds for a function that is told to stop, as a container has by default; then its process is killed."""

LAST_WORDS_S = 1.0
"""Seconds for what a process has said before it ended: others may hold its connection open."""

CODE = "import sys; sys.path[:] = sys.argv[3:]; from callboard.board.jobs.work.child import main; main()"


class ProcessEnded(Exception):
    """The process of an attempt ended before it; the text says how."""


class JobProcesses:
    """As many processes as are needed at a time, kept for the next jobs. One whose job does not end by itself is
    killed, with all that it has started. Python's own pool of processes breaks when one of them ends.
    """

    def __init__(self) -> None:
        self._idle: list[JobProcess] = []
        self._alive: dict[JobProcess, asyncio.Task[None]] = {}

    async def run(self, call: Call, running: RunningJob) -> Ending:
        """Run the job in one of the processes. Raises ``ProcessEnded``, ``TooLong`` or ``OSError``."""
        its = self._idle.pop() if self._idle else await self._start()
        try:
            ending = await its.begin(call, running)
            if ending is None:
                running.begun_s = asyncio.get_running_loop().time()
                async with Deadline(call[1], running):
                    ending = await its.end(running)
        except BaseException:
            its.kill()
            raise
        self._idle.append(its)
        return ending

    async def close(self) -> None:
        """End them all."""
        for each in self._alive:
            each.kill()
        if self._alive:
            await asyncio.wait(self._alive.values())

    async def _start(self) -> "JobProcess":
        ours, theirs = socket.socketpair()
        with theirs:
            reader, writer = await asyncio.open_unix_connection(sock=ours)
            words = ("-c", CODE, str(os.getpid()), str(theirs.fileno()), *sys.path)
            try:
                process = await asyncio.create_subprocess_exec(
                    sys.executable, *words, pass_fds=(theirs.fileno(),), stdin=asyncio.subprocess.DEVNULL,
                    start_new_session=True,  # a Ctrl-C at the terminal is for the worker alone
                )  # fmt: skip
            except BaseException:
                writer.close()
                raise
        its = JobProcess(process, reader, writer)
        task = self._alive[its] = asyncio.create_task(its.live())
        task.add_done_callback(lambda _: self._forget(its))
        return its

    def _forget(self, process: "JobProcess") -> None:
        del self._alive[process]
        if process in self._idle:
            self._idle.remove(process)


class JobProcess:
    """One of them."""

    def __init__(self, process: Process, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._process, self._reader, self._writer = process, reader, writer
        self._said: asyncio.Queue[Said | ProcessEnded] = asyncio.Queue()
        self._is_killed = False

    async def begin(self, call: Call, running: RunningJob) -> Ending | None:
        """Begin the job; returns how it ended if it did before the function was called."""
        self._writer.write(pickle.dumps(call))
        try:
            async with asyncio.timeout(START_S):
                return await self._hear(running)
        except TimeoutError:
            raise ProcessEnded(f"its module was not imported within {START_S:g} s; import less in it") from None

    async def end(self, running: RunningJob) -> Ending:
        """How the job that has begun ends. If this is cancelled as the job is to stop, it can still do so itself."""
        try:
            return await self._ending(running)
        except asyncio.CancelledError:
            if not running.is_stopping:
                raise
        self._writer.write(pickle.dumps(None))
        try:
            async with asyncio.timeout(STOP_S):
                return await self._ending(running)
        except TimeoutError:
            raise ProcessEnded(f"it was told to stop, and killed as it had not after {STOP_S:g} s") from None

    async def _ending(self, running: RunningJob) -> Ending:
        while (ending := await self._hear(running)) is None:
            pass
        return ending

    async def _hear(self, running: RunningJob) -> Ending | None:
        while isinstance(said := await self._said.get(), JobProgress):
            running.take(said)
        if isinstance(said, ProcessEnded):
            raise said
        return said

    def kill(self) -> None:
        """End it, and what it has started."""
        self._is_killed = True
        if self._process.returncode is None:
            self._kill_group()

    def _kill_group(self) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)

    async def live(self) -> None:
        """Hear what it says, until it has ended."""
        listening = asyncio.create_task(self._listen())
        try:
            reason = how(await self._process.wait())
            self._kill_group()
            await asyncio.wait({listening}, timeout=LAST_WORDS_S)
        finally:
            listening.cancel()
            self._writer.close()
        if not self._is_killed:
            get_logger().warning("job.process_ended", process=self._process.pid, reason=reason)
        self._said.put_nowait(ProcessEnded(reason))

    async def _listen(self) -> None:
        with suppress(asyncio.IncompleteReadError, OSError):
            while True:
                size = int.from_bytes(await self._reader.readexactly(SIZE_BYTES))
                said: Said = pickle.loads(await self._reader.readexactly(size))  # noqa: S301 - of its own process
                self._said.put_nowait(said)


def how(code: int) -> str:
    """How a process has ended that has this exit code; below 0, by a signal."""
    if code >= 0:
        return f"its process ended with exit code {code}"
    hint = "; maybe it took too much memory" if code == -signal.SIGKILL else ""
    return f"its process was ended by signal {-code}, {signal.strsignal(-code)}{hint}"
