"""What rich draws on: no text is taken for markup, and what others wrote is escaped."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from rich.console import Console, RenderableType
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.text import Text

from callboard.escaping import escaped

WIDTH_MAX = 1 << 30
"""Wider than anything; what is drawn is measured, so that it costs nothing."""


class Screen(Console):
    """A console on which plain strings, also in tables, are shown as they are; see ``escaped``."""

    def render_str(self, text: str, **how: Any) -> Text:
        """The string as text, without markup."""
        return Text(escaped(text), style=str(how.get("style", "")))


@cache
def screen() -> Screen:
    """Standard output."""
    return Screen(highlight=False, emoji=False)


def notices() -> Screen:
    """Standard error."""
    return Screen(stderr=True, highlight=False, emoji=False)


def unbroken(drawn: RenderableType) -> str:
    """What is drawn as lines, none of them wrapped or padded."""
    console = Screen(width=WIDTH_MAX, highlight=False, emoji=False)
    with console.capture() as captured:
        console.print(drawn, width=console.measure(drawn).maximum)
    return "\n".join(line.rstrip() for line in captured.get().rstrip("\n").split("\n"))


@contextmanager
def progress(what: str, *, counted: bool = True) -> Iterator[Callable[..., None]]:
    """A bar, or what does not count a spinner, on a terminal, and nothing elsewhere.

    Yields what is told of: what is being done, how much of it, and of how much.
    """
    console = notices()
    text = TextColumn("{task.description}", markup=False)
    columns = (text, BarColumn(), MofNCompleteColumn()) if counted else (SpinnerColumn(), text)
    off = not console.is_terminal
    with Progress(*columns, TimeElapsedColumn(), console=console, transient=True, disable=off) as bar:
        task = bar.add_task(escaped(what), total=None)

        def tell(what: str, done: int | None = None, total: int | None = None) -> None:
            bar.update(task, description=escaped(what), completed=done, total=total)

        yield tell
