"""System calls that never return, or fail: strace attaches to a child of this process and strikes at one of them.

It counts the calls of each thread, so a life whose writing one thread does is struck at every one of them.
"""

import os
import re
import shutil
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

STRACE = shutil.which("strace")

WRITING = (
    "write", "pwrite64", "writev", "pwritev", "sendfile", "copy_file_range", "ftruncate", "fallocate",
    "fsync", "fdatasync", "sync_file_range", "msync",
    "rename", "renameat", "renameat2", "link", "linkat", "symlink", "symlinkat", "unlink", "unlinkat",
    "mkdir", "mkdirat", "rmdir", "chmod", "fchmod", "fchmodat", "utimensat", "open", "openat",
)  # fmt: skip
"""The calls that can leave something on a disk; opening may create."""

KILL = "signal=KILL"
FULL = "error=ENOSPC"
EXHAUSTED = "error=EMFILE"

ATTACH_S = 60.0
"""For strace to attach, on a machine that is busy."""
LIFE_S = 60.0
"""For a life that takes a tenth of a second."""


@dataclass(frozen=True, slots=True)
class Lived:
    """How a life ended: ``status`` is what ``waitpid`` says, ``struck`` whether the call that was meant came."""

    status: int
    struck: bool

    @property
    def completed(self) -> bool:
        """Whether it came to its own end."""
        return os.WIFEXITED(self.status) and os.WEXITSTATUS(self.status) == 0


def live(life: Callable[[], None]) -> int:
    """Live in a child, and say what became of it."""
    _, status = os.waitpid(_born(life, traced=False), 0)
    return status


def struck(life: Callable[[], None], call: str, number: int, how: str, notes: Path) -> Lived:
    """Live in a child that is struck at its ``number``-th ``call``, counted in each of its threads."""
    status, text = _traced(life, ["-e", f"trace={call}", "-e", f"inject={call}:{how}:when={number}"], notes)
    by_kill = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
    return Lived(status, by_kill if how == KILL else "(INJECTED)" in text)


def counted(life: Callable[[], None], notes: Path) -> dict[str, Counter[int]]:
    """How often each thread of an undisturbed life makes each call."""
    status, text = _traced(life, ["-e", f"trace={','.join(f'?{call}' for call in WRITING)}"], notes)
    assert status == 0, f"the life fails by itself, with status {status}"
    calls: dict[str, Counter[int]] = {}
    for thread, call in re.findall(r"^(\d+) +(\w+)\(", text, re.MULTILINE):
        calls.setdefault(call, Counter())[int(thread)] += 1
    return calls


def _traced(life: Callable[[], None], options: list[str], notes: Path) -> tuple[int, str]:
    assert STRACE is not None
    child = _born(life, traced=True)
    strace = subprocess.Popen(
        [STRACE, "-f", "-q", "-o", str(notes), *options, "-p", str(child)],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    deadline = time.monotonic() + LIFE_S
    ended, status = 0, 0
    while not ended:
        ended, status = os.waitpid(child, os.WNOHANG)
        if time.monotonic() > deadline:
            os.kill(child, signal.SIGKILL)
            raise AssertionError(f"a life with {options} does not end")
        time.sleep(0.002)
    _, output = strace.communicate()
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) != NOT_TRACED, f"strace does not attach: {output}"
    return status, notes.read_text(errors="replace")


NOT_TRACED = 77


def _born(life: Callable[[], None], *, traced: bool) -> int:
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        if traced and not _is_traced():
            code = NOT_TRACED
        else:
            life()
            code = 0
    except Exception as error:  # noqa: BLE001 - a call failed, as it was meant to: the parent asks for no more
        del error
    finally:
        os._exit(code)


def _is_traced() -> bool:
    deadline = time.monotonic() + ATTACH_S
    while "TracerPid:\t0\n" in Path("/proc/self/status").read_text():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.001)
    return True
