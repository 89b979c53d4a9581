"""What the commands that make a request of a publisher have in common."""

from collections.abc import Awaitable, Callable
from typing import Annotated

import typer

from callboard.app.board import Callboard
from callboard.app.publisher import Publisher
from callboard.app.remedies import why
from callboard.app.views import Package, SubscriberStatus, to_data
from callboard.cli.board import on_board
from callboard.cli.exit_codes import FOUND
from callboard.cli.options import BoardOptions
from callboard.cli.output import count, say, show, show_json, size
from callboard.cli.waiting import wait_for_fleet

Name = Annotated[str, typer.Option("--publisher", metavar="NAME", help="Else the one that callboard.toml names.")]
RequestId = Annotated[str, typer.Option(metavar="ID", help="Shipped once, however often it is repeated with its id.")]
Recipients = Annotated[
    list[str] | None, typer.Option("--to", metavar="NAME", help="Only for this subscriber; may be repeated.")
]
Wait = Annotated[
    float | None, typer.Option(metavar="SECONDS", min=0, help="Wait until all live subscribers are past it.")
]


def ship(
    options: BoardOptions,
    publisher: str,
    request: Callable[[Publisher], Awaitable[Package]],
    wait_s: float | None,
    *,
    json: bool,
    create: bool = False,
) -> None:
    """Make the request, say what became of it, and wait for the fleet if asked to."""
    name = publisher or options.load().config.publisher.name

    async def work(board: Callboard) -> tuple[Package, list[SubscriberStatus]]:
        package = await request(board.publisher(name))
        if json:
            show_json(to_data(package))
        else:
            show(_line(package))
        waits = wait_s is not None and package.state == "accepted"
        return package, await wait_for_fleet(board, name, package.offset, wait_s or 0.0) if waits else []

    package, behind = on_board(options, work, create=create)
    for row in behind:
        say(f"{row.name} is not there yet: {row.state}, at offset {row.offset}. {why(row)}")
    if behind or package.state == "dropped":
        raise typer.Exit(FOUND)


def _line(package: Package) -> str:
    if package.state == "dropped":
        return f"nothing was shipped: {package.reason}"
    content = f", {count(package.entries, 'entry')}, {size(package.length)}" if package.entries else ""
    held_up = f", held up {package.throttled_s:.1f} s by {package.throttled_by}" if package.throttled_by else ""
    return f"{package.kind} {package.id} is at offset {package.offset}{content}{held_up}"
