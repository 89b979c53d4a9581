"""The command line. ``main`` is its only way in, for the script ``callboard`` and for ``python -m callboard``."""

import signal
import sys


def main() -> None:
    """Run the command that the arguments say, and exit with its code; see ``exit_codes``."""
    try:
        from callboard.cli.running import run  # not before an interrupt is caught

        code = run()
    except KeyboardInterrupt:
        code = 130
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # from here on there is nothing to say about an interrupt
    sys.exit(code)
