"""Starts commands as copies of a process that has imported callboard: the imports are most of what a command costs.

Each is still a process, with its own folder, environment and streams. What only a fresh interpreter does is for tests
that start one: its options, PYTHONPATH, closed streams.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from tests import budget

ORIGINAL = Path(__file__).with_name("warm_process.py")
REPLY_BYTES = 100
THREADLESS = {"JE_ARROW_MALLOC_CONF": "background_thread:false", "OPENBLAS_NUM_THREADS": "1"}
"""For Arrow and numpy: threads that they start when imported would not be copied."""


class WarmStart:
    """The process that is copied. It ends with the tests, or earlier by ``end``."""

    def __init__(self) -> None:
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            words = [sys.executable, str(ORIGINAL), str(theirs.fileno())]
            self._process = subprocess.Popen(
                words, env=os.environ | THREADLESS, pass_fds=[theirs.fileno()], start_new_session=True
            )

    def run(
        self, words: tuple[str, ...], folder: Path, environ: Mapping[str, str], given: str, timeout_s: float
    ) -> subprocess.CompletedProcess[str]:
        """Run ``python -m callboard`` with these words to its end. ``TimeoutExpired`` if it does not end in time."""
        assert self._process.poll() is None, f"a test ended the process that is copied: {self._process.returncode}"
        with tempfile.TemporaryFile("w+") as read, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors:
            read.write(given)
            read.seek(0)
            asked = json.dumps([words, str(folder), dict(environ)]).encode()
            socket.send_fds(self._socket, [asked], [file.fileno() for file in (read, out, errors)])
            code, cpu_s = self._ended(int(self._socket.recv(REPLY_BYTES)), words, timeout_s)
            budget.spend(cpu_s)
            said = []
            for file in (out, errors):
                file.seek(0)
                said.append(file.read().decode())
        return subprocess.CompletedProcess(words, code, *said)

    def _ended(self, pid: int, words: tuple[str, ...], timeout_s: float) -> tuple[int, float]:
        """The exit code and the processor time of a copy, which is killed if it is not waited for."""
        self._socket.settimeout(timeout_s)
        try:
            code, cpu_s = json.loads(self._socket.recv(REPLY_BYTES))
        except BaseException as error:
            os.kill(pid, signal.SIGKILL)
            self._socket.settimeout(None)
            self._socket.recv(REPLY_BYTES)
            if isinstance(error, TimeoutError):
                raise subprocess.TimeoutExpired(words, timeout_s) from None
            raise
        self._socket.settimeout(None)
        return code, cpu_s

    def end(self) -> None:
        """End it."""
        self._socket.close()
        self._process.wait()
