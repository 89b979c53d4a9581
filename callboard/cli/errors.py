"""``callboard errors``: the packages that subscribers gave up on."""

from typing import Annotated

import typer

from callboard.app.views import to_data
from callboard.cli.board import on_board
from callboard.cli.options import BoardOptions, Json, Limit, PublisherName, Skip
from callboard.cli.output import age, count, show, show_json, show_table


def errors(
    options: BoardOptions,
    subscriber: Annotated[str, typer.Argument(metavar="[NAME]", help="Of this subscriber alone.")] = "",
    publisher: PublisherName = "",
    skip: Skip = 0,
    limit: Limit = 20,
    json: Json = False,
) -> None:
    """Show the packages that subscribers gave up on, and why."""
    view = on_board(options, lambda board: board.errors(subscriber, publisher, skip=skip, limit=limit))
    if json:
        show_json(to_data(view))
        return
    show(f"{count(view.size, 'package')} given up" if view.size else "no package was given up")
    if view.errors:
        columns = ("SUBSCRIBER", "PUBLISHER", "<OFFSET>", "<TRIES>", "AGE", "REASON")
        show_table(
            columns,
            (
                (row.subscriber, row.publisher, str(row.offset), str(row.attempts), age(row.age_s), row.reason)
                for row in view.errors
            ),
        )
