"""The command line. ``main`` is its only way in, for the script ``callboard`` and for ``python -m callboard``."""

import signal
import sys
from typing import Any


def main() -> None:
    """Run the command that the arguments say, and exit with its code; see ``exit_codes``.

    Before and after the command an interrupt ends the process as the system does it: there is nothing to tidy
    up, and Python may swallow a ``KeyboardInterrupt`` in the midst of an import, or show a traceback at the end.
    """
    _on_interrupt(signal.SIG_DFL)
    from callboard.cli.run_command import run
    from callboard.cli.terminal.streams import open_streams

    open_streams()
    _on_interrupt(signal.default_int_handler)
    try:
        code = run()
    except KeyboardInterrupt:
        code = 130
    _on_interrupt(signal.SIG_DFL)
    sys.exit(code)


def _on_interrupt(handler: Any) -> None:
    """Handle SIGINT so, unless whoever started this process wants it ignored, as a shell does in the background."""
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, handler)
