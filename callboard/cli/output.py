"""Results for people, on standard output, and for programs, as JSON."""

import json
import sys
from collections.abc import Iterable
from functools import cache
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

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
"""The colours of states; where there are none (no terminal, NO_COLOR) the word says it all."""


@cache
def out() -> Console:
    """Standard output. Nothing in a text is taken for markup."""
    return Console(markup=False, highlight=False, emoji=False)


def show_json(data: Any) -> None:
    """Print one JSON document."""
    sys.stdout.write(json.dumps(data, indent=2, ensure_ascii=False) + "\n")


def show(text: str) -> None:
    """Print a result; lines stay as they are."""
    sys.stdout.write(text + "\n")


def say(text: str) -> None:
    """Tell people what goes on, on standard error."""
    sys.stderr.write(text + "\n")


def show_table(columns: Iterable[str], rows: Iterable[Iterable[str | Text]]) -> None:
    """Print a table; see ``table``."""
    out().print(table(columns, rows))


def table(columns: Iterable[str], rows: Iterable[Iterable[str | Text]]) -> Table:
    """A table. Long texts wrap; a column in ``<...>`` is for numbers."""
    made = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for name in columns:
        number = name.startswith("<")
        made.add_column(name.strip("<>"), justify="right" if number else "left", no_wrap=number, overflow="fold")
    for row in rows:
        made.add_row(*(cell if isinstance(cell, Text) else Text(cell) for cell in row))
    return made


def state_text(state: str) -> Text:
    """The state, in its colour."""
    return Text(state, style=STYLES.get(state, ""))


def age(seconds: float) -> str:
    """A duration as people say it: ``3 s``, ``2 min``, ``5 h``, ``12 d``."""
    for unit, length, limit in (("s", 1, 120), ("min", 60, 7200), ("h", 3600, 172_800)):
        if seconds < limit:
            return f"{seconds / length:.0f} {unit}"
    return f"{seconds / 86_400:.0f} d"


def size(length: float) -> str:
    """Bytes as people say it: ``138 B``, ``4.2 MB``."""
    for unit in ("B", "kB", "MB", "GB"):
        if length < 1000:
            return f"{length:.0f} {unit}" if unit == "B" or length >= 100 else f"{length:.1f} {unit}"
        length /= 1000
    return f"{length:.1f} TB"


def count(number: int, noun: str) -> str:
    """The number and the noun: ``1 package``, ``3 packages``, ``2 entries``."""
    plural = noun[:-1] + "ies" if noun.endswith("ry") else noun + "s"
    return f"{number} {noun if number == 1 else plural}"
