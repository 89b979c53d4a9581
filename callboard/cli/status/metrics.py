"""``callboard metrics``: the status as metrics for Prometheus."""

from callboard.cli.board import on_board
from callboard.cli.options import BoardOptions
from callboard.cli.terminal.output import show


def metrics(options: BoardOptions) -> None:
    """Print the board's metrics in the text format of Prometheus, such as for node exporter's textfiles."""
    show(*on_board(options, lambda board: board.metrics()).rstrip("\n").split("\n"))
