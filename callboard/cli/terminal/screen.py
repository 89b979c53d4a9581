"""Consoles for rich: no text is taken for markup, and text from others is escaped."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from rich.console import Console, RenderableType
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.text import Text

from callboard.escaping import escaped

WIDTH_MAX = 1 << 30
"""Wider than anything; it costs nothing, because output is only as wide as measured."""


class Screen(Console):
    """A console that shows plain strings, also in tables, as they are; see ``escaped``."""

    def render_str(self, text: str, **how: Any) -> Text:
        """The string as text, without markup."""
        return Text(escaped(text), style=str(how.get("style", "")))


@cache
def screen() -> Screen:
    """The console on standard output."""
    return Screen(highlight=False, emoji=False)


def notices() -> Screen:
    """The console on standard error."""
    return Screen(stderr=True, highlight=False, emoji=False)


def unbroken(drawn: RenderableType) -> str:
    """The drawing as lines, without wrapping or padding."""
    console = Screen(width=WIDTH_MAX, highlight=False, emoji=False)
    with console.capture() as captured:
        console.print(drawn, width=console.measure(drawn).maximum)
    return "\n".join(line.rstrip() for line in captured.get().rstrip("\n").split("\n"))


@contextmanager
def progress(what: str, *, counted: bool = True) -> Iterator[Callable[..., None]]:
    """A progress bar, or unless ``counted`` a spinner, on a terminal; nothing elsewhere.

    Yields a function to call with what is being done, how much is done, and the total.
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
