"""``callboard queue``: what a subscriber has not processed yet."""

from typing import Annotated

import typer

from callboard.app.views import shortened, to_data
from callboard.cli.board import on_board
from callboard.cli.options import BoardOptions, Json, Limit, PublisherName, Skip
from callboard.cli.output import age, count, show, show_json, show_table, size


def queue(
    options: BoardOptions,
    subscriber: Annotated[str, typer.Argument(metavar="NAME", help="The subscriber.")],
    publisher: PublisherName = "",
    skip: Skip = 0,
    limit: Limit = 20,
    json: Json = False,
) -> None:
    """Show the packages that a subscriber has not processed yet, oldest first."""
    view = on_board(options, lambda board: board.queue(subscriber, publisher, skip=skip, limit=limit))
    if json:
        show_json(to_data(view))
        return
    if not view.size:
        show(f"the queue of {subscriber} is empty")
        return
    show(f"{count(view.size, 'package')} ({size(view.length)}), the oldest {age(view.oldest_s)} old")
    columns = ("<OFFSET>", "KIND", "PUBLISHER", "<SIZE>", "AGE", "PATHS")
    show_table(
        columns,
        (
            (
                str(package.offset),
                package.kind,
                package.publisher,
                size(package.length),
                age(package.age_s),
                package.problem or shortened(package.paths),
            )
            for package in view.packages
        ),
    )
