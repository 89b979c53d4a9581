"""``callboard errors``: shows the packages that subscribers gave up on, quarantined, or could not finish."""

from collections.abc import Iterator
from shlex import quote
from typing import Annotated

import typer

from callboard.board.page import Page
from callboard.board.views import FailedPackage
from callboard.cli.board import on_board
from callboard.cli.options import After, BoardOptions, Json, Limit, PublisherName
from callboard.cli.terminal.output import show, show_json, show_rest, show_table, text
from callboard.units import age, count


def errors(
    options: BoardOptions,
    subscriber: Annotated[str, typer.Argument(metavar="[NAME]", help="Only this subscriber, or SITE/SUBSCRIBER.")] = "",
    publisher: PublisherName = "",
    after: After = "",
    limit: Limit = 20,
    json: Json = False,
) -> None:
    """Show the packages that subscribers gave up, quarantined or could not finish, why, and what can be done."""
    view = on_board(options, lambda board: board.errors(subscriber, publisher, cursor=after, limit=limit))
    if json:
        show_json(view)
        return
    show(f"{count(view.size, 'package')} in error queues" if view.size else "no package is in an error queue")
    if view.items:
        show_table(
            ("SUBSCRIBER", "PUBLISHER", "<OFFSET>", "STATUS", "<TRIES>", "AGE", "REASON"),
            (
                (
                    row.subscriber,
                    row.publisher,
                    str(row.offset) if row.offset >= 0 else "",
                    text("expired", style="dim") if row.expired else row.status.replace("_", " "),
                    str(row.attempts),
                    age(row.age_s),
                    row.reason,
                )
                for row in view.items
            ),
        )
        _advise(view)
    show_rest(view)


def _advise(view: Page[FailedPackage]) -> None:
    """The remedies, shown for the first error of each kind."""
    examples = {row.status: row for row in reversed(view.items) if not row.expired and row.offset >= 0}
    commands = [line for row in examples.values() for line in _commands(row)]
    if commands:
        show("")
        show_table(("FOR EXAMPLE", ""), ((f"$ {command}", does) for command, does in commands))
    if any(row.expired for row in view.items):
        show(
            "",
            "expired: the package is trimmed from the log and cannot be retried; publish its paths again with --full",
        )


def _commands(row: FailedPackage) -> Iterator[tuple[str, str]]:
    yield f"callboard log show {row.entry}", "shows the package"
    what = "calls its hook again" if row.status == "hook_failed" else "tries it again"
    yield f"callboard retry {quote(row.subscriber)} {row.offset}", what
    if row.status == "held":
        yield f"callboard skip {quote(row.subscriber)} {row.offset} --reason TEXT", "skips it for good"
    if row.status == "hook_failed":
        yield f"callboard skip {quote(row.subscriber)} {row.offset} --reason TEXT", "dismisses it: the content stays"
    if row.status == "given_up":
        yield f"callboard skip {quote(row.subscriber)} {row.offset} --reason TEXT", "dismisses it: it stays as it is"
        yield f"callboard log resend {row.offset} --to {quote(row.subscriber)}", "ships it again, to this subscriber"
