"""The live table of the demo."""

from rich.console import Group
from rich.table import Table

from callboard.board.views import BoardStatus, SubscriberStatus, shown_state
from callboard.cli.terminal.output import state_text, text

REASON_MAX = 60


def draw(status: BoardStatus, doing: str, news: list[str]) -> Group:
    """The table, what the demo is doing, and the latest events."""
    table = Table(title="callboard demo", title_justify="left", expand=False)
    for heading in ("subscriber", "state", "behind by", "seconds", "attempts", "last error"):
        table.add_column(heading, justify="right" if heading in ("behind by", "seconds", "attempts") else "left")
    for row in status.subscribers:
        table.add_row(text(row.name), state_text(shown_state(row)), *map(text, _figures(row)))
    return Group(table, text(doing, style="bold"), *(text(f"  {line}") for line in news[-6:]))


def line(status: BoardStatus, doing: str) -> str:
    """The same in one line, for when there is no terminal."""
    rows = (f"{row.name} {shown_state(row)} -{row.lag_packages}" for row in status.subscribers)
    return f"{doing}: {', '.join(rows)}"


def _figures(row: SubscriberStatus) -> tuple[str, str, str, str]:
    lag = str(row.lag_packages) if row.lag_packages >= 0 else "?"
    seconds = f"{row.lag_s:.1f}" if row.lag_s >= 0 else "?"
    return lag, seconds, str(row.attempts or ""), (row.last_error or row.reason)[:REASON_MAX]
