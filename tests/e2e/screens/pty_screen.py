"""A command on a real terminal, and what is on its screen."""

import fcntl
import os
import pty
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable
from pathlib import Path

import pyte

DEADLINE_S = 120.0
"""For what takes a second on a machine that has nothing else to do."""


class PtyScreen:
    """Runs the command in this folder, on a terminal of this size."""

    def __init__(self, folder: Path, columns: int, lines: int, *words: str) -> None:
        self._screen = pyte.Screen(columns, lines)
        self._stream = pyte.ByteStream(self._screen)
        self.written = b""
        self._ours, theirs = pty.openpty()
        self._resize(columns, lines)
        self.modes = termios.tcgetattr(theirs)
        unset = ("COLUMNS", "LINES", "NO_COLOR")
        environ = {name: value for name, value in os.environ.items() if not name.startswith(("CALLBOARD_", *unset))}
        self.process = subprocess.Popen(
            [sys.executable, "-c", TAKES_THE_TERMINAL, *words], cwd=folder, env=environ | {"TERM": "xterm-256color"},
            stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True,
        )  # fmt: skip
        self._theirs = theirs

    @property
    def lines(self) -> list[str]:
        """The lines of the screen, without the spaces at their ends."""
        return [line.rstrip() for line in self._screen.display]

    def until(self, condition: Callable[[list[str]], object]) -> list[str]:
        """Wait until the screen is so; returns its lines."""
        deadline = time.monotonic() + DEADLINE_S
        while not condition(self.lines):
            shown = "\n".join(self.lines)
            assert time.monotonic() < deadline, f"not so within {DEADLINE_S:g} s:\n{shown}"
            self._read(0.1)
        return self.lines

    def press(self, *keys: str) -> None:
        """Press these keys."""
        for key in keys:
            os.write(self._ours, key.encode())

    def resize(self, columns: int, lines: int) -> None:
        """Give the terminal another size, as a window manager does."""
        self._screen.resize(lines, columns)
        self._resize(columns, lines)

    def end(self) -> int:
        """Wait for the end of the command; returns its exit code."""
        deadline = time.monotonic() + DEADLINE_S
        while self.process.poll() is None:
            assert time.monotonic() < deadline, "it has not ended"
            self._read(0.1)
        self._read(0.0)
        return self.process.returncode

    @property
    def modes_now(self) -> object:
        """The modes of the terminal, which a command must leave as it has found them."""
        return termios.tcgetattr(self._theirs)

    def close(self) -> None:
        """End the command, if it runs."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self._theirs)
        os.close(self._ours)

    def _resize(self, columns: int, lines: int) -> None:
        fcntl.ioctl(self._ours, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def _read(self, wait_s: float) -> None:
        while select.select([self._ours], [], [], wait_s)[0]:
            data = os.read(self._ours, 1 << 16)
            self.written += data
            self._stream.feed(data)
            wait_s = 0.0


TAKES_THE_TERMINAL = """
import fcntl, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)  # so that it is told of a new size
from callboard.cli import main
main()
"""
