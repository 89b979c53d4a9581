"""Ends every process with the one responsible for it. Linux only."""

import ctypes
import os
import signal
import time
from contextlib import suppress
from multiprocessing import parent_process
from pathlib import Path

PR_SET_PDEATHSIG = 1
PR_SET_NAME = 15
PR_SET_CHILD_SUBREAPER = 36

ADOPTION_S = 2.0
"""How long a process forked twice may take to become the child of the process that requested it."""


def die_with_parent(parent: int | None = None) -> None:
    """Have this process killed as soon as its creator dies: that of ``multiprocessing``, or the given one."""
    creator = parent_process()
    parent = creator.pid if creator is not None else parent
    if parent is None:
        return
    # Thespian's administrator is forked twice. Leashed before the intermediate process ends, it would die with it.
    deadline = time.monotonic() + ADOPTION_S
    while os.getppid() != parent and time.monotonic() < deadline:
        time.sleep(0.0005)
    _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)  # the creator died before the leash was on


def adopt_orphans() -> None:
    """Become the parent of every descendant whose own parent has died."""
    _prctl(PR_SET_CHILD_SUBREAPER, 1)


def set_name(name: str) -> None:
    """Name this process, as ``ps`` shows it; only the first 15 bytes count."""
    ctypes.CDLL(None).prctl(PR_SET_NAME, name.encode()[:15], 0, 0, 0)


def kill_descendants() -> None:
    """Kill and reap until none is left. The caller has adopted orphans, so none escapes."""
    while True:
        for child in children(os.getpid()):
            with suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return


def children(parent: int) -> list[int]:
    """The processes, including zombies, whose parent is this one."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            # The name in parentheses may contain anything, so count fields from its end.
            fields = stat.read_text().rpartition(")")[2].split()
            if int(fields[1]) == parent:
                found.append(int(stat.parent.name))
    return found


def _prctl(option: int, value: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(option, value, 0, 0, 0) != 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))
