"""The command line. ``main`` is the entry point of the script ``callboard`` and of ``python -m callboard``."""

import signal
import sys
from typing import Any


def main() -> None:
    """Run the command in the arguments, and exit with its code; see ``exit_codes``.

    Before and after the command, an interrupt has the system's default effect: there is nothing to clean up,
    and Python may swallow a ``KeyboardInterrupt`` during an import, or show a traceback at exit.
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
    """Handle SIGINT this way, unless the parent process had it ignored, as a shell does for background jobs."""
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, handler)
