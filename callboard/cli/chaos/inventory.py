"""What there is of a run: its processes, found by a mark in their environment, and the files that they leave."""

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
"""The environment variable that every process of a run inherits, whoever starts it."""

NOTICE_S = 10.0
"""How long what belongs to a dead service may take to notice."""
POLL_S = 0.1


class Process(NamedTuple):
    """One process, with the name that it goes by."""

    pid: int
    parent: int
    name: str


def marked(mark: str) -> Iterator[Process]:
    """The processes of a run that live, but for this one."""
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
    """Send a signal to those that still live."""
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, number)


async def left_processes(mark: str) -> list[str]:
    """Those that outlive the run although they had time to notice that it is over."""
    deadline = time.monotonic() + NOTICE_S
    while (found := _told(mark)) and time.monotonic() < deadline:  # noqa: ASYNC110 - nobody tells of their end
        await asyncio.sleep(POLL_S)
    return found


def left_files(folder: Path) -> list[str]:
    """What is in the temporary folder of the run."""
    return sorted(path.name for path in folder.iterdir())


def _told(mark: str) -> list[str]:
    return [f"{process.pid} {process.name}" for process in marked(mark)]
