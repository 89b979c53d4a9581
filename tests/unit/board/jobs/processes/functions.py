"""Functions of jobs that run in processes of their own, where they do what would bring down a worker."""

import ctypes
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

from pydantic import BaseModel

from callboard import CancelJob, JobRegistry, RetryJob, RunningJob
from callboard.board.jobs.work.running_job import Later

jobs = JobRegistry()


class Mail(BaseModel):
    """A payload."""

    to: str


@jobs.job("who", process=True)
def who() -> list[object]:
    """Says where it runs."""
    return [os.getpid(), os.getppid(), threading.current_thread() is threading.main_thread()]


@jobs.job("send", process=True)
def send(mail: Mail, job: RunningJob) -> Mail:
    """Gives back what it gets."""
    return Mail(to=f"{mail.to} {job.topic} {job.attempt}")


@jobs.job("exit", process=True)
def leave(code: int) -> None:
    """Ends its process without another word."""
    os._exit(code)


@jobs.job("signal", process=True)
def strike(number: int) -> None:
    """Sends its process a signal."""
    os.kill(os.getpid(), number)
    signal.pause()


@jobs.job("segfault", process=True)
def segfault() -> None:
    """Crashes the interpreter."""
    ctypes.string_at(0)


@jobs.job("memory", process=True)
def too_much() -> int:
    """Takes more memory than there is."""
    return len(bytes(1 << 60))


@jobs.job("raise", process=True)
def fail(name: str) -> None:
    """Raises one of these."""
    raise {"bug": ValueError("a bug"), "retry": RetryJob("not yet", delay_s=0), "cancel": CancelJob("never"),
           "exit": SystemExit(3)}[name]  # fmt: skip


@jobs.job("unfit", process=True)
def unfit() -> object:
    """Returns what JSON cannot hold."""
    return object()


@jobs.job("hang", process=True, retries=0)
def hang(folder: str) -> None:
    """Never ends, and holds Python's lock, so that nothing else runs in its process; nor does what it has started."""
    other = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    write(folder, os.getpid(), other.pid)
    "a".ljust(1 << 20).count("b")
    while True:
        ctypes.PyDLL(None).usleep(1_000_000)


@jobs.job("freeze", process=True, retries=0)
def freeze(folder: str) -> None:
    """Suspends its process."""
    write(folder, os.getpid())
    os.kill(os.getpid(), signal.SIGSTOP)


@jobs.job("obey", process=True)
def obey(folder: str, job: RunningJob) -> None:
    """Ends when it is told to."""
    write(folder, os.getpid())
    job.stopping.wait(600)
    raise CancelJob("as it was told")


@jobs.job("report", process=True)
def report(go_on: str, job: RunningJob) -> object:
    """Reports, and saves for the next attempt."""
    if job.saved is not None:
        return job.saved
    job.progress(4)
    job.step(2)
    job.log("half")
    while not Path(go_on).exists():
        time.sleep(0.01)
    for n in range(1000):
        job.step()
        job.log(f"{n}")
    job.save({"done": 1})
    raise RetryJob("once more", delay_s=0)


@jobs.job("step", process=True)
def step(go_on: str, job: RunningJob) -> None:
    """Reports now and then until there is the file."""
    while not Path(go_on).exists():
        time.sleep(0.05)
        job.step()


@jobs.job("later", process=True)
def later(how: str, job: RunningJob) -> Later:
    """Gives its result later, by another thread."""
    threading.Timer(0.05, job.succeed if how == "succeed" else job.cancel, ("by a thread",)).start()
    return job.later()


async def answer() -> str:
    """Is awaited by nobody but callboard."""
    return "awaited"


@jobs.job("coroutine", process=True)
def coroutine() -> object:
    """Makes a coroutine and is none."""
    return answer()


@jobs.job("fork", process=True)
def fork() -> str:
    """Returns twice, in two processes."""
    return "a parent" if os.fork() else "its copy"


@jobs.job("workers", process=True)
def workers() -> list[int]:
    """Has processes of its own."""
    with multiprocessing.get_context("fork").Pool(2) as pool:
        return pool.map(abs, [-1, -2])


@jobs.job("close", process=True)
def close() -> None:
    """Closes all files, as daemons do."""
    os.closerange(3, 1000)


@jobs.job("straggler", process=True)
def straggler(go_on: str, job: RunningJob) -> None:
    """Leaves a thread behind that reports on it."""

    def on() -> None:
        while not Path(go_on).exists():
            job.log("still here")

    threading.Thread(target=on, daemon=True).start()


@jobs.job("thread")
def thread() -> int:
    """Runs in the worker's process."""
    return os.getpid()


def write(folder: str, *processes: int) -> None:
    """Tell the ids of processes, all at once."""
    (Path(folder) / "new").write_text(" ".join(map(str, processes)))
    (Path(folder) / "new").rename(Path(folder) / "processes")
