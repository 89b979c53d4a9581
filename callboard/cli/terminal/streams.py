"""The standard streams of a command, and the handling of output that cannot be written."""

import errno
import io
import os
import sys
from typing import Any

KEPT_CHARS = 4000
"""Unwritten output that is kept, to report it if it is lost: enough for all output of a command that changes
something."""


class OutputLost(Exception):
    """Standard output cannot be written: its reader has gone, its disk is full, or it is closed.

    ``text`` is the lost text, or its beginning. It ``is_missed`` if it says what the command changed. A reader that has
    gone, such as ``head``, had enough.
    """

    is_missed = False

    def __init__(self, error: OSError, text: str) -> None:
        super().__init__(error.strerror or str(error))
        self.text = text
        self.reader_has_gone = error.errno == errno.EPIPE


class Results(io.TextIOWrapper):
    """Standard output. A failed write ends the command."""

    _kept = ""

    def write(self, text: str) -> int:
        """Write, or raise ``OutputLost``."""
        if text == "":  # Typer's probe of the kind of stream
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
    """Standard error. What cannot be written is dropped: a lost message must not end the command."""

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
    """Replace the standard streams. Characters that their encoding lacks are written as backslash escapes.

    A closed descriptor is opened first; otherwise a file of the log could get its number, and output be written to it.
    """
    for number, flags in enumerate((os.O_RDONLY, os.O_RDONLY, os.O_WRONLY)):  # so every write to 1 fails
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, flags)  # gets the lowest free number
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
    """Discard what is still buffered for this descriptor, also at the end of the process."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, number)
    os.close(nowhere)
