"""Somebody who has copied an example, and starts what its README says."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import httpx

from callboard.testing.servers.network import free_port

ROOT = Path(__file__).resolve().parents[3]

DEADLINE_S = 120.0
"""For what takes a second on a machine that has nothing else to do."""

POLL_S = 0.05

COMMAND = f'#!/bin/sh\nexec "{sys.executable}" -m callboard "$@"\n'

T = TypeVar("T")


class Reader:
    """Has a copy of an example; all that they have started ends with ``close``."""

    def __init__(self, example: str, folder: Path) -> None:
        self.folder = Path(shutil.copytree(ROOT / "examples" / example, folder / example))
        (folder / "bin").mkdir()
        (folder / "bin" / "callboard").write_text(COMMAND)
        (folder / "bin" / "callboard").chmod(0o755)
        self._environ = {name: value for name, value in os.environ.items() if not name.startswith("CALLBOARD_")}
        self._environ |= {"PATH": f"{folder / 'bin'}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}
        self._environ |= {"PYTHONDONTWRITEBYTECODE": "", "COLUMNS": "200"}
        self._started: list[subprocess.Popen[bytes]] = []

    def run(self, *words: str, code: int = 0) -> str:
        """Run a command to its end, which must have this exit code; return what it prints."""
        done = subprocess.run(
            self._argv(words), cwd=self.folder, env=self._environ, capture_output=True, text=True, timeout=DEADLINE_S,
            check=False,
        )  # fmt: skip
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout

    def start(self, *words: str, **environ: str) -> "subprocess.Popen[bytes]":
        """Start a command that runs on; what it says is in ``said.txt``."""
        with (self.folder / "said.txt").open("ab") as said:
            process = subprocess.Popen(
                self._argv(words), cwd=self.folder, env=self._environ | environ, stdout=said, stderr=said
            )
        self._started.append(process)
        return process

    def serve(self, app: str, path: str, **environ: str) -> tuple[str, "subprocess.Popen[bytes]"]:
        """Start a service by uvicorn, and wait until it answers at the path; return its address."""
        port = free_port()
        process = self.start(sys.executable, "-m", "uvicorn", app, "--port", str(port), **environ)
        address = f"http://127.0.0.1:{port}"
        self.until(lambda: process.poll() is not None or status(f"{address}{path}"))
        assert process.poll() is None, self.said
        return address, process

    @staticmethod
    def _argv(words: tuple[str, ...]) -> list[str]:
        return [sys.executable if word == "python" else word for word in words]

    @property
    def said(self) -> str:
        """What all started commands have said."""
        return (self.folder / "said.txt").read_text()

    def until(self, condition: Callable[[], T]) -> T:
        """Wait until the condition holds."""
        deadline = time.monotonic() + DEADLINE_S
        while not (found := condition()):
            assert time.monotonic() < deadline, self.said
            time.sleep(POLL_S)
        return found

    def close(self) -> None:
        """End all, as Ctrl-C does."""
        for process in self._started:
            process.send_signal(signal.SIGTERM)
        for process in self._started:
            process.wait(DEADLINE_S)


def status(url: str) -> int:
    """The status of an answer; 0 if there is none."""
    try:
        return httpx.get(url, timeout=10).status_code
    except httpx.TransportError:
        return 0


def text(url: str) -> str:
    """A page; empty if there is none."""
    try:
        answer = httpx.get(url, timeout=10)
    except httpx.TransportError:
        return ""
    return answer.text if answer.status_code == 200 else ""
