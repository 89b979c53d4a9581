"""``callboard verify`` and ``callboard repair``: check a subscriber's content against the log, and repair it."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from callboard.board.care.upkeep import VERIFY_S
from callboard.board.care.verifying import Repair, Verified
from callboard.cli.board import on_board
from callboard.cli.options import BoardOptions, Json
from callboard.cli.terminal.exit_codes import FOUND
from callboard.cli.terminal.output import say, show, show_json, show_table
from callboard.units import count

if TYPE_CHECKING:
    from callboard.board.board import Callboard

Subscriber = Annotated[str, typer.Argument(metavar="NAME", help="A running subscriber.", show_default=False)]
Paths = Annotated[list[str] | None, typer.Argument(help="Only these paths and below; default: everything.")]
Wait = Annotated[float, typer.Option(metavar="SECONDS", min=0, help="Time limit.")]


def verify(
    options: BoardOptions, subscriber: Subscriber, paths: Paths = None, wait: Wait = VERIFY_S, json: Json = False
) -> None:
    """Compare a subscriber's content with what the log says it should be; exit with 1 if it differs."""
    found = on_board(options, lambda board: board.verify(subscriber, *(paths or ()), timeout_s=wait))
    if json:
        show_json(found)
    else:
        _show(found)
    if found.differences:
        raise typer.Exit(FOUND)


def repair(
    options: BoardOptions,
    subscriber: Subscriber,
    paths: Paths = None,
    source: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Ship from this folder; default: from the log's packages.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would be shipped.")] = False,
    wait: Wait = VERIFY_S,
    json: Json = False,
) -> None:
    """Ship exactly the differences to one subscriber, then verify it again."""

    async def work(board: "Callboard") -> tuple[Verified, tuple[Repair, ...]]:
        found = await board.verify(subscriber, *(paths or ()), timeout_s=wait)
        place = source.absolute() if source else ""
        return found, await board.repair(subscriber, found, source=place, dry_run=dry_run)

    found, repaired = on_board(options, work)
    if json:
        show_json(repaired)
        return
    if not repaired:
        _show(found)
    for each in repaired:
        where = "would be shipped" if dry_run else f"is at offset {each.offset}"
        show(f"{each.kind} of {count(len(each.paths), 'path')} of {each.publisher} {where}")


def _show(found: Verified) -> None:
    if found.differences:
        show_table(
            ("PATH", "IS", "<OFFSET>", "PUBLISHER", "DETAIL"),
            ((each.path, each.what, str(each.offset), each.publisher, each.detail) for each in found.differences),
        )
    wrong = count(len(found.differences), "difference")
    show(f"{found.subscriber} at offset {found.offset}: {count(found.entries, 'entry')}, {wrong}")
    if found.unknown:
        show(f"{found.unknown} of them unknown: no package from offset {found.first} on says whether they should be")
    for problem in found.problems:
        say(f"warning: {problem}")
