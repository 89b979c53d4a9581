"""Where a demo is played: a folder, processes, and what is told of it on the terminal."""

import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing import get_context
from multiprocessing.context import SpawnProcess
from pathlib import Path
from signal import SIGKILL
from typing import Any

import typer

from callboard.cli.terminal.log_setup import configure_logging
from callboard.cli.terminal.output import show

Tell = Callable[[str], None]


@contextmanager
def stage(level: str = "error") -> Iterator[tuple[Path, Tell]]:
    """A folder, removed in the end, and a function that tells what happens, with the seconds since the beginning."""
    from callboard.cli.terminal.screen import notices

    console, began_s = notices(), time.monotonic()
    configure_logging(level)

    def tell(what: str) -> None:
        console.print(f"{time.monotonic() - began_s:5.1f} s  {what}", soft_wrap=True)

    folder = Path(tempfile.mkdtemp(prefix="callboard-demo-"))
    try:
        yield folder, tell
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def conclude(line: str, *, good: bool) -> None:
    """Show the figures, and exit with 1 unless all went well."""
    show(line)
    if not good:
        raise typer.Exit(1)


class Services:
    """The processes of a demo, by name; all are killed in the end."""

    def __init__(self) -> None:
        self._processes: dict[str, SpawnProcess] = {}

    def start(self, name: str, target: Callable[..., None], *arguments: Any) -> None:
        """Start a process, in place of the one of this name, which has been killed."""
        process = self._processes[name] = get_context("spawn").Process(target=target, args=arguments)
        process.start()

    def kill(self, name: str) -> None:
        """Kill the process, and wait for its end."""
        self._processes[name].kill()
        self._processes[name].join()

    def ended(self) -> list[str]:
        """The processes that have ended by themselves."""
        return [name for name, its in self._processes.items() if its.exitcode not in (None, -SIGKILL)]

    def __enter__(self) -> "Services":
        return self

    def __exit__(self, *_: object) -> None:
        for name in self._processes:
            self.kill(name)
