"""Runs one command, and turns any error that ends it into a message and an exit code."""

import io
import os
import sys
import traceback
from contextlib import suppress
from pathlib import Path
from typing import Any

import typer

from callboard.cli.app import app
from callboard.cli.terminal import exit_codes
from callboard.cli.terminal.document import Document
from callboard.cli.terminal.output import say
from callboard.cli.terminal.streams import OutputLost
from callboard.errors import CallboardError


def run() -> int:
    """Run the command in the arguments; returns its exit code."""
    try:
        code = _code()
        sys.stdout.flush()
    except OutputLost as lost:
        if lost.is_missed:
            say(f"error: standard output cannot be written: {lost}; it would say:", *lost.text.splitlines())
        elif not lost.reader_has_gone:
            say(f"error: standard output cannot be written: {lost}")
        return exit_codes.OUTPUT_LOST
    return code


def _code() -> int:
    if "_CALLBOARD_COMPLETE" in os.environ:
        sys.modules["rich"] = None  # type: ignore[assignment]  # so Typer completes without it: slow and needless
    try:
        code: int | None = app(prog_name="callboard", standalone_mode=False)
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else exit_codes.OK
    except typer.TyperException as error:
        return _misused(error)
    except typer.Abort:
        say("aborted")
        return exit_codes.FOUND
    except CallboardError as error:
        say(*(f"error: {line}" for line in error.lines()))
        return exit_codes.code_of(error)
    except OutputLost:
        raise
    except Exception:  # noqa: BLE001 - the last resort for all other errors
        say(*_without_passwords(traceback.format_exc()).splitlines())
        say("this is a bug in callboard; please report it with the lines above")
        return exit_codes.BUG
    return code or exit_codes.OK


def _misused(error: Any) -> int:
    """Print the usage error, in Typer's words, which repeat what was typed."""
    text = io.StringIO()
    error.show(file=text)
    lines = _without_passwords(text.getvalue()).splitlines()
    say(*lines)
    if "--json" in sys.argv:
        document = Document()
        document.tell("usage", lines[-1].removeprefix("Error: "))
        document.print(exit_codes.USAGE)
    return int(error.exit_code)


def _without_passwords(text: str) -> str:
    """The text without any address that is in the arguments, the environment or the file."""
    from callboard.backends.address import is_shown_in_full
    from callboard.backends.echo import masked
    from callboard.config.sources import FILE, from_file

    given = [word.partition("=")[2] if word.startswith("--") else word for word in sys.argv[1:]]
    given += [value for name, value in os.environ.items() if name.startswith("CALLBOARD_")]
    with suppress(CallboardError):
        given += [each.value for each in from_file(Path(FILE)) if isinstance(each.value, str)]
    return masked(text, *(each for each in given if not is_shown_in_full(each)))
