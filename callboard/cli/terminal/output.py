"""Results on standard output, for people or, as JSON, for programs. Text from others is escaped here; see
``escaped``. Tables wrap on a terminal; elsewhere each row is one line of any length.
"""

import sys
from collections.abc import Callable, Collection, Iterable
from typing import TYPE_CHECKING, Any, TypeVar

from callboard.cli.terminal.document import OPEN, Document, print_json
from callboard.escaping import escaped

if TYPE_CHECKING:  # slow to import, and not needed for help, completion, or JSON
    from rich.console import RenderableType
    from rich.table import Table
    from rich.text import Text

    from callboard.board.page import Page

R = TypeVar("R")

STYLES = {
    "idle": "green",
    "importing": "green",
    "starting": "cyan",
    "running": "green",
    "waiting": "yellow",
    "paused": "yellow",
    "staged": "yellow",
    "throttled": "yellow",
    "retrying": "yellow",
    "silent": "yellow",
    "blocked": "bold red",
    "gap": "bold red",
    "gone": "red",
    "stopped": "dim",
}
"""The colours of states; without colours (no terminal, NO_COLOR), the words suffice."""


def show_json(data: Any) -> None:
    """Show views, or what is made of them, to a program: when the command ends, in the envelope."""
    OPEN.get().show(data)


def tell(code: str, line: str) -> None:
    """Tell a program something beside the data."""
    OPEN.get().tell(code, line)


def show(*lines: str) -> None:
    """Print a result. Each line stays one line."""
    _write("\n".join(map(escaped, lines)))


def show_result(data: Any, *lines: str, json: bool) -> None:
    """Show a result: the data as JSON, if that is asked for, or else the lines."""
    if json:
        show_json(data)
    elif lines:
        show(*lines)


def show_next(data: Any, *lines: str, json: bool) -> None:
    """Print the next result of a stream at once: as a line of JSON, without an envelope, or else the lines."""
    if json:
        print_json(data)
    elif lines:
        show(*lines)


def show_list(
    found: Collection[R],
    columns: Iterable[str],
    row: "Callable[[R], Iterable[str | Text]]",
    *,
    json: bool,
    none: str = "nothing",
) -> None:
    """Show what was found: as JSON, if that is asked for, or as a table with a row for each, or that there is none."""
    if json:
        show_json(tuple(found))
    elif found:
        show_table(columns, map(row, found))
    else:
        show(none)


def say(*lines: str) -> None:
    """Print a message for people to standard error; a program finds it in the envelope."""
    OPEN.get(Document()).tell("note", *lines)
    sys.stderr.write("".join(f"{escaped(line)}\n" for line in lines))
    sys.stderr.flush()


def show_table(columns: Iterable[str], rows: "Iterable[Iterable[str | Text]]") -> None:
    """Print a table; see ``table``."""
    show_drawn(table(columns, rows))


def show_rest(page: "Page[Any]") -> None:
    """Say what is not on the page: what is missing, and how to get the next one."""
    for line in (page.missing, f"there is more: --after {page.cursor}" if page.cursor else ""):
        if line:
            show("", line)


def show_drawn(drawn: "RenderableType") -> None:
    """Print what rich draws: at the terminal's width, or, without a terminal, at its own."""
    from callboard.cli.terminal.screen import screen, unbroken

    if sys.stdout.isatty():
        screen().print(drawn)
        sys.stdout.flush()
    else:
        _write(unbroken(drawn))


def table(columns: Iterable[str], rows: "Iterable[Iterable[str | Text]]") -> "Table":
    """A table. Long texts wrap; a column in ``<...>`` is for numbers."""
    from rich.table import Table
    from rich.text import Text

    made = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for name in columns:
        number = name.startswith("<")
        made.add_column(name.strip("<>"), justify="right" if number else "left", no_wrap=number, overflow="fold")
    for row in rows:
        made.add_row(*(cell if isinstance(cell, Text) else text(cell) for cell in row))
    return made


def text(*parts: "str | tuple[str, str] | Text", style: str = "", no_wrap: bool = False) -> "Text":
    """Text for ``show_drawn``, of parts that may each have a style."""
    from rich.text import Text

    made = Text(style=style, no_wrap=no_wrap or None)
    for part in parts:
        if isinstance(part, Text):
            made.append_text(part)
        else:
            plain, own = (part, "") if isinstance(part, str) else part
            made.append(escaped(plain), own or None)
    return made


def state_text(state: str) -> "Text":
    """The state, in its colour."""
    return text(state, style=STYLES.get(state, ""))


def _write(lines: str) -> None:
    sys.stdout.write(f"{lines}\n")
    sys.stdout.flush()
