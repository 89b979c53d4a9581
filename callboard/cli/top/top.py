"""``callboard top``: shows the fleet and the jobs on one screen, as they are now."""

import asyncio
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Annotated

import typer

from callboard.cli.board import on_board, open_board, place
from callboard.cli.options import BoardOptions
from callboard.cli.terminal.log_setup import log_quietly
from callboard.cli.terminal.output import show_drawn
from callboard.errors import CallboardError, ConfigError

if TYPE_CHECKING:
    from callboard.board.board import Callboard
    from callboard.cli.top.frame import Frame
    from callboard.cli.top.reading import Reading
    from callboard.config import Loaded

ANSWER_S = 5.0
"""How long a reading may take; then the log counts as away."""

WINDOW_S = 60.0
"""What happens in a minute is what has happened since the oldest reading of this age."""

ONLY = {"f": "fleet", "j": "jobs"}


def top(
    options: BoardOptions,
    interval: Annotated[
        float, typer.Option(metavar="SECONDS", min=0.2, max=3600, help="Between two looks at the board.")
    ] = 2.0,
    once: Annotated[bool, typer.Option("--once", help="Print all of it once; so does a pipe.")] = False,
) -> None:
    """Show the fleet and the jobs on one screen, as they are now, until q."""
    from callboard.cli.terminal.screen import screen
    from callboard.cli.top.frame import Frame
    from callboard.cli.top.reading import read

    loaded = options.load()
    if once or not screen().is_terminal or screen().is_dumb_terminal:
        its = on_board(options, read)
        show_drawn(Frame(place(loaded.config.log), its, fit=False))
        return
    log_quietly(loaded.config.logging.format, verbose=options.verbose)
    asyncio.run(Top(loaded, interval).run())


class Top:
    """The live screen: reads the board in the background, and does what the keys say."""

    def __init__(self, loaded: "Loaded", interval_s: float) -> None:
        self._loaded, self._interval_s = loaded, interval_s
        self._last: Reading | None = None
        self._readings: list[Reading] = []  # of the last minute
        self._problem, self._away_s = "", 0.0
        self._only, self._quits = "", False
        self._changed, self._going = asyncio.Event(), asyncio.Event()
        self._going.set()

    async def run(self) -> None:
        """Show it until q is pressed. Raises ``ConfigError`` if there is no board."""
        from rich.live import Live

        from callboard.cli.terminal.screen import screen

        reading = asyncio.create_task(self._read_always())
        reading.add_done_callback(lambda _: self._changed.set())
        try:
            with _keys(self._press), Live(console=screen(), screen=True, auto_refresh=False) as live:
                while not self._quits and not reading.done():
                    live.update(self._frame(), refresh=True)
                    await self._changed.wait()
                    self._changed.clear()
        finally:
            reading.cancel()
        with suppress(asyncio.CancelledError):
            await reading

    def _frame(self) -> "Frame":
        from callboard.cli.top.frame import Frame

        rates = self._last.a_minute(self._readings[0]) if self._last and self._readings else {}
        log, paused = place(self._loaded.config.log), not self._going.is_set()
        return Frame(log, self._last, rates, self._problem, self._away_s, self._only, paused)

    async def _read_always(self) -> None:
        """Read the board at intervals. It is opened again when it cannot be read: the log may be another one then."""
        while True:
            try:
                async with open_board(self._loaded) as board:
                    while await self._going.wait():
                        await self._read(board)
                        await asyncio.sleep(self._interval_s)
            except (CallboardError, TimeoutError) as error:
                if isinstance(error, ConfigError) and self._last is None:
                    raise
                self._problem = str(error) or f"the log has not answered within {ANSWER_S:g} s"
                self._away_s = self._away_s or time.time()
                self._readings.clear()
                self._changed.set()
            await asyncio.sleep(self._interval_s)

    async def _read(self, board: "Callboard") -> None:
        from callboard.cli.top.reading import read

        async with asyncio.timeout(ANSWER_S):
            self._last = await read(board)
        self._problem, self._away_s = "", 0.0
        self._readings.append(self._last)
        while self._readings[2:] and self._last.mono_s - self._readings[1].mono_s > WINDOW_S:
            del self._readings[0]
        self._changed.set()

    def _press(self, key: str) -> None:
        if key in ONLY:
            self._only = "" if self._only == ONLY[key] else ONLY[key]
        elif key == " ":
            (self._going.clear if self._going.is_set() else self._going.set)()
        self._quits = self._quits or key == "q"
        self._changed.set()


@contextmanager
def _keys(press: Callable[[str], None]) -> Iterator[None]:
    """Pass on keys as they are pressed; SIGTERM and the end of the terminal as q, and a new size as none."""
    import termios
    import tty

    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, press, "q")
    loop.add_signal_handler(signal.SIGWINCH, press, "")
    if not os.isatty(0):
        yield
        return

    def read() -> None:
        keys = b""
        with suppress(OSError):
            keys = os.read(0, 64)
        for key in keys.decode(errors="replace") or "q":
            press(key)

    before = termios.tcgetattr(0)
    tty.setcbreak(0)
    loop.add_reader(0, read)
    try:
        yield
    finally:
        loop.remove_reader(0)
        termios.tcsetattr(0, termios.TCSADRAIN, before)
