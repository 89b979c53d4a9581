"""``callboard publish``: ship content."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Annotated

import typer

from callboard.app.board import Callboard
from callboard.app.publisher import Publisher
from callboard.app.remedies import why
from callboard.app.views import Package, SubscriberStatus, to_data
from callboard.cli.board import on_board
from callboard.cli.exit_codes import FOUND
from callboard.cli.options import BoardOptions, Json
from callboard.cli.output import count, say, show, show_json, size
from callboard.cli.waiting import wait_for_fleet

Name = Annotated[str, typer.Option("--publisher", metavar="NAME", help="Else the one that callboard.toml names.")]
RequestId = Annotated[str, typer.Option(metavar="ID", help="Shipped once, however often it is repeated with its id.")]
Wait = Annotated[
    float | None, typer.Option(metavar="SECONDS", min=0, help="Wait until all live subscribers are past it.")
]


def publish(
    options: BoardOptions,
    source: Annotated[Path, typer.Argument(help="A folder.", show_default=False)],
    paths: Annotated[
        list[str] | None, typer.Argument(help="What to ship of it, such as /blog; all if not given.")
    ] = None,
    shallow: Annotated[bool, typer.Option("--shallow", help="Just these entries, not what lies below.")] = False,
    publisher: Name = "",
    request_id: RequestId = "",
    wait: Wait = None,
    json: Json = False,
) -> None:
    """Ship a folder, or paths in it, as one package. Creates the log if there is none."""

    async def request(of: Publisher) -> Package:
        return await of.publish(source, paths or ("/",), deep=not shallow, request_id=request_id)

    ship(options, publisher, request, wait, json=json, create=True)


def ship(
    options: BoardOptions,
    publisher: str,
    request: Callable[[Publisher], Awaitable[Package]],
    wait_s: float | None,
    *,
    json: bool,
    create: bool,
) -> None:
    """Make the request, say what became of it, and wait for the fleet if asked to."""
    name = publisher or options.load().config.publisher.name

    async def work(board: Callboard) -> list[SubscriberStatus]:
        package = await request(board.publisher(name))
        if json:
            show_json(to_data(package))
        else:
            content = f", {count(package.entries, 'entry')}, {size(package.length)}" if package.entries else ""
            show(f"{package.kind} {package.id} is at offset {package.offset}{content}")
        return await wait_for_fleet(board, name, package.offset, wait_s) if wait_s is not None else []

    behind = on_board(options, work, create=create)
    for row in behind:
        say(f"{row.name} is not there yet: {row.state}, at offset {row.offset}. {why(row)}")
    if behind:
        raise typer.Exit(FOUND)
