"""What belongs to a run: its processes, found by a mark in their environment, and the files that they leave."""

import asyncio
import os
import signal
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

MARK = "CHAOS_RUN"
"""The environment variable that every process of a run inherits."""

NOTICE_S = 10.0
"""How long the processes of a dead service may take to notice."""
POLL_S = 0.1


class Process(NamedTuple):
    """A process and its name."""

    pid: int
    parent: int
    name: str


def marked(mark: str) -> Iterator[Process]:
    """The live processes of a run, except this one."""
    wanted = f"\0{MARK}={mark}\0".encode()
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if wanted in b"\0" + (folder / "environ").read_bytes() and int(folder.name) != os.getpid():
                name, _, rest = (folder / "stat").read_text().rpartition(")")
                state, parent = rest.split()[:2]
                if state not in "ZX":
                    yield Process(int(folder.name), int(parent), name.partition("(")[2])


def family(mark: str, ancestor: int) -> dict[int, str]:
    """A process of the run and its descendants, with their names."""
    children: dict[int, list[Process]] = defaultdict(list)
    found: dict[int, str] = {}
    for process in marked(mark):
        children[process.parent].append(process)
        if process.pid == ancestor:
            found[process.pid] = process.name
    pending = [ancestor]
    while pending:
        for process in children[pending.pop()]:
            found[process.pid] = process.name
            pending.append(process.pid)
    return found


def send(pids: list[int], number: signal.Signals) -> None:
    """Send a signal to those still alive."""
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, number)


async def left_processes(mark: str) -> list[str]:
    """The processes that outlive the run although they had time to notice its end."""
    deadline = time.monotonic() + NOTICE_S
    while (found := _left(mark)) and time.monotonic() < deadline:  # noqa: ASYNC110 - nothing signals their end
        await asyncio.sleep(POLL_S)
    return found


def left_files(folder: Path) -> list[str]:
    """The files in the temporary folder of the run."""
    return sorted(path.name for path in folder.iterdir())


def _left(mark: str) -> list[str]:
    return [f"{process.pid} {process.name}" for process in marked(mark)]
