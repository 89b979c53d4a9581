"""Runs one command, and turns whatever ends it into a message and an exit code."""

import sys
import traceback

from callboard.cli import exit_codes
from callboard.cli.app import app
from callboard.errors import CallboardError


def run() -> int:
    """Run the command that the arguments say; its exit code."""
    try:
        app(prog_name="callboard")
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else exit_codes.OK
    except CallboardError as error:
        for line in str(error).splitlines():
            print(f"error: {line}", file=sys.stderr)  # noqa: T201
        return exit_codes.code_of(error)
    except Exception:  # noqa: BLE001 - the one place where everything else ends
        traceback.print_exc()
        print("this is a bug in callboard; please report it with the lines above", file=sys.stderr)  # noqa: T201
        return exit_codes.BUG
    return exit_codes.OK
