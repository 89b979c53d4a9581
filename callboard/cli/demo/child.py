"""A process of the demo: started, watched through its log, killed, and stopped without leftovers."""

import ctypes
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import IO, Any

STOP_S = 40.0
"""How long a child may drain and sign off before it is killed."""


class Child:
    """A ``callboard`` process. Its log, one JSON object per line, gives the pids of its actors."""

    def __init__(
        self,
        name: str,
        arguments: list[str],
        log: Path,
        *,
        nice: int = 0,
        talks: bool = False,
        temporary: Path | None = None,
    ) -> None:
        self.name = name
        self._arguments = arguments
        self._log_path = log
        self._nice = nice
        self._environment = os.environ | ({"TMPDIR": str(temporary)} if temporary else {})
        self._talks = talks
        self._read = 0
        self._pids: dict[str, tuple[int, int]] = {}  # role -> (incarnation, pid)
        self._incarnations: dict[str, int] = {}
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start or restart it."""
        command = [sys.executable, "-m", "callboard", *self._arguments]
        if self._nice:
            command = ["nice", "-n", str(self._nice), *command]
        pipe = subprocess.PIPE if self._talks else subprocess.DEVNULL
        with self._log_path.open("ab") as log:
            self._process = subprocess.Popen(  # noqa: S603 - our own command
                command,
                stdin=pipe,
                stdout=pipe,
                stderr=log,
                env=self._environment,
                start_new_session=True,
                preexec_fn=_end_with_the_demo,  # noqa: PLW1509 - takes no lock: one system call
            )

    @property
    def alive(self) -> bool:
        """Whether it runs."""
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int:
        """Its process id, or that of its last run."""
        assert self._process is not None
        return self._process.pid

    @property
    def stdin(self) -> IO[bytes]:
        """Its standard input."""
        assert self._process is not None
        assert self._process.stdin is not None
        return self._process.stdin

    @property
    def stdout(self) -> IO[bytes]:
        """Its standard output."""
        assert self._process is not None
        assert self._process.stdout is not None
        return self._process.stdout

    def incarnation(self, role: str) -> int:
        """How often the actor has been started."""
        self._follow_log()
        return self._incarnations.get(role, 0)

    def kill_actor(self, role: str) -> bool:
        """Send SIGKILL to the process of one actor; False if it is not up."""
        self._follow_log()
        _, pid = self._pids.get(role, (0, 0))
        if not pid:
            return False
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            return False
        return True

    def kill(self) -> None:
        """Send SIGKILL to the process that owns the agent; its actors have to notice by themselves."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    def stop(self) -> None:
        """Ask it to end."""
        if self._process is not None and self._process.poll() is None:
            self._process.terminate()

    def wait(self) -> None:
        """Wait until it has ended; kill it if it takes too long."""
        if self._process is None:
            return
        try:
            self._process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()

    def last_words(self) -> str:
        """The end of its log, for error messages."""
        lines = self._log_path.read_text(errors="replace").splitlines() if self._log_path.exists() else []
        return "\n".join(line for line in lines[-30:] if '"level": "debug"' not in line)

    def _follow_log(self) -> None:
        if not self._log_path.exists():
            return
        with self._log_path.open("rb") as log:
            log.seek(self._read)
            text = log.read()
        complete = text[: text.rfind(b"\n") + 1]
        self._read += len(complete)
        for line in complete.splitlines():
            event = _parsed(line)
            if event.get("event") == "actor.started":
                role = str(event["actor"])
                self._incarnations[role] = self._incarnations.get(role, 0) + 1
                self._pids[role] = (self._incarnations[role], int(event["pid"]))


_LIBC = ctypes.CDLL(None)
_PR_SET_PDEATHSIG = 1


def _end_with_the_demo() -> None:
    """Between fork and exec: have the kernel end this process when the demo dies for any reason."""
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


def _parsed(line: bytes) -> dict[str, Any]:
    try:
        event = json.loads(line)
    except ValueError:
        return {}
    return event if isinstance(event, dict) else {}
