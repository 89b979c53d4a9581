"""The standard streams of a command, and what becomes of output that nobody takes."""

import errno
import io
import os
import sys
from typing import Any

KEPT_CHARS = 4000
"""What is kept of output until it is written, to tell of it if it cannot be: all that a command says which changes
something."""


class OutputLost(Exception):
    """Standard output cannot be written: its reader has gone, its disk is full, or it is closed.

    ``text`` is what was to be written, or how it begins. It ``is_missed`` if it says what the command changed. A reader
    that has gone, such as ``head``, had enough.
    """

    is_missed = False

    def __init__(self, error: OSError, text: str) -> None:
        super().__init__(error.strerror or str(error))
        self.text = text
        self.reader_has_gone = error.errno == errno.EPIPE


class Results(io.TextIOWrapper):
    """Standard output. What cannot be written ends the command."""

    _kept = ""

    def write(self, text: str) -> int:
        """Write, or raise ``OutputLost``."""
        if text == "":  # how Typer finds out what kind of stream this is
            return 0
        if len(self._kept) < KEPT_CHARS:
            self._kept += text
        try:
            return super().write(text)
        except OSError as error:
            raise self._lost(error) from None

    def flush(self) -> None:
        """Write what is buffered, or raise ``OutputLost``."""
        try:
            super().flush()
        except OSError as error:
            raise self._lost(error) from None
        self._kept = ""

    def _lost(self, error: OSError) -> OutputLost:
        _discard(1)
        text, self._kept = self._kept, ""
        return OutputLost(error, text)


class Notices(io.TextIOWrapper):
    """Standard error. What cannot be written is lost: nothing ends for want of words about it."""

    def write(self, text: str) -> int:
        """Write, if possible."""
        try:
            return super().write(text)
        except OSError:
            _discard(2)
            return len(text)

    def flush(self) -> None:
        """Write what is buffered, if possible."""
        try:
            super().flush()
        except OSError:
            _discard(2)


def open_streams() -> None:
    """Take over the standard streams. Characters that their encoding does not have are written with backslashes.

    A descriptor that is closed is opened first, or a file of a log would get its number, and be written to.
    """
    for number, flags in enumerate((os.O_RDONLY, os.O_RDONLY, os.O_WRONLY)):  # so every write to 1 fails
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, flags)  # gets the least number that is free
    sys.stdin = sys.stdin or os.fdopen(0, encoding="utf-8", closefd=False)
    sys.stdout = _taken_over(sys.stdout, 1, Results)
    sys.stderr = _taken_over(sys.stderr, 2, Notices)


def _taken_over(stream: Any, number: int, kind: type[Results | Notices]) -> Results | Notices:
    if stream is None:
        file = io.BufferedWriter(io.FileIO(number, "w", closefd=False))
        return kind(file, encoding="utf-8", errors="backslashreplace")
    encoding, by_line, through = stream.encoding, stream.line_buffering, stream.write_through
    return kind(
        stream.detach(), encoding=encoding, errors="backslashreplace", line_buffering=by_line, write_through=through
    )


def _discard(number: int) -> None:
    """Let what is still buffered for this descriptor go nowhere, also when the process ends."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, number)
    os.close(nowhere)
