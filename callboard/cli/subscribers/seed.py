"""``callboard seed`` and ``callboard snapshot``: start a new subscriber with the content of another."""

import asyncio
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from callboard.board.care.seeding import Seeded, seed_from_repository, seed_from_snapshot, take_snapshot
from callboard.cli.board import on_board, place
from callboard.cli.options import BoardOptions, Json
from callboard.cli.terminal.output import show_result
from callboard.errors import ConfigError
from callboard.units import size

if TYPE_CHECKING:
    from callboard.board.board import Callboard


def seed(
    options: BoardOptions,
    name: Annotated[str, typer.Argument(help="The new subscriber.", show_default=False)],
    into: Annotated[str, typer.Option(metavar="PLACE", help="Its empty repository.", show_default=False)],
    snapshot: Annotated[Path | None, typer.Option("--from", metavar="FILE", help="A snapshot.")] = None,
    origin: Annotated[
        str, typer.Option("--from-repository", metavar="PLACE", help="The repository of a stopped subscriber.")
    ] = "",
    json: Json = False,
) -> None:
    """Fill the repository of a new subscriber, position included: it then imports only later packages."""
    if (snapshot is None) == (not origin):
        raise ConfigError("say what to start from: --from FILE or --from-repository PLACE")

    async def work(board: "Callboard") -> Seeded:
        board.territory.add_target(into)
        topic, base = board.settings.topics.package, Path.cwd()
        if snapshot is not None:
            return await seed_from_snapshot(board.log, topic, name, into, snapshot, base)
        return await seed_from_repository(board.log, topic, name, into, origin, base)

    seeded = on_board(options, work)
    line = f"{place(into)} holds what {seeded.origin} has up to offset {seeded.offset}; run subscriber {name} on it"
    show_result(seeded, line, json=json)


def snapshot(
    options: BoardOptions,
    what: Annotated[str, typer.Argument(metavar="NAME|PLACE", help="A configured subscriber, or a repository.")],
    to: Annotated[Path, typer.Option(metavar="FILE", help="A new file.", show_default=False)],
    json: Json = False,
) -> None:
    """Write content and position of a stopped subscriber to one file, for `callboard seed`."""
    config = options.load().config
    repository = config.for_subscriber(what).into if what in config.subscribers else what
    taken = asyncio.run(take_snapshot(repository, to.absolute(), Path.cwd(), time.time_ns()))
    line = f"{to} holds what {taken.origin} has up to offset {taken.offset}, {size(taken.length)}"
    show_result(taken, line, json=json)
