"""The one JSON document of a command with ``--json``. It is printed when the command ends, as only then its status is
known.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import typer

from callboard.cli.terminal import exit_codes
from callboard.cli.terminal.streams import OutputLost
from callboard.errors import CallboardError
from callboard.escaping import escaped

if TYPE_CHECKING:
    from callboard.board.envelope import Status


@dataclass(slots=True)
class Document:
    """What a command has shown to programs, and said to people."""

    data: Any = None
    is_shown: bool = False
    told: list[tuple[str, str]] = field(default_factory=list)

    def show(self, data: Any) -> None:
        """Have this printed when the command ends."""
        self.data, self.is_shown = data, True

    def tell(self, code: str, *lines: str) -> None:
        """Have these lines among the diagnostics."""
        self.told += ((code, line) for line in lines)

    def print(self, code: int) -> None:
        """Print it, for a command that ends with this exit code."""
        from callboard.board.envelope import Diagnostic, enclosed

        envelope = enclosed(self.data, STATUSES.get(code, "error"), (Diagnostic(*each) for each in self.told))
        print_json(envelope, indent=2 if self.is_shown else None)


STATUSES: "dict[int, Status]" = {exit_codes.OK: "ok", exit_codes.FOUND: "attention"}
"""By exit code; every other one is an error."""

OPEN: ContextVar[Document] = ContextVar("document")
"""That of the command which runs."""


@contextmanager
def one_document(*, wanted: bool) -> Iterator[None]:
    """Print what the command shows by ``show_json``; if programs ``wanted`` JSON, also why it failed."""
    document = Document()
    before = OPEN.set(document)
    try:
        yield
    except OutputLost:
        raise
    except BaseException as error:
        code, *problem = _ended(error)
        if problem:
            document.tell(*problem)
        if document.is_shown or (wanted and problem):
            document.print(code)
        raise
    finally:
        OPEN.reset(before)
    if document.is_shown:
        document.print(exit_codes.OK)


def _ended(error: BaseException) -> tuple[int, str, str] | tuple[int]:
    """The exit code of a command that ends so, and what a program is told of the error, if it is one."""
    match error:
        case typer.Exit():
            return (error.exit_code,)
        case typer.Abort():
            return exit_codes.FOUND, "aborted", "it was not confirmed"
        case CallboardError():
            return exit_codes.code_of(error), error.code, str(error)
        case Exception():
            return exit_codes.BUG, "bug", "an error that callboard did not expect; see standard error"
    return (exit_codes.INTERRUPTED,)


def print_json(answer: object, *, indent: int | None = None) -> None:
    """Print JSON at once, also escaping control characters that JSON allows, such as U+009B."""
    from callboard.board.envelope import written

    utf8 = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
    lines = written(answer, indent=indent, ascii_only=not utf8).split("\n")
    sys.stdout.write("".join(f"{escaped(line)}\n" for line in lines))
    sys.stdout.flush()
