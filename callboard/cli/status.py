"""``callboard status``: who has what, who has not, why not, and what can be done."""

import asyncio
from dataclasses import asdict
from typing import Annotated

import typer
from rich.live import Live

from callboard.app.board import Callboard
from callboard.app.outlook import Outlook
from callboard.app.views import BoardStatus, to_data
from callboard.cli.board import on_board
from callboard.cli.options import BoardOptions, Json
from callboard.cli.output import out, say, show_json
from callboard.cli.retention import outlooks, warn
from callboard.cli.status_screen import draw
from callboard.errors import ConfigError

REFRESH_S = 1.0
"""Subscribers announce a change at most once a second."""


def status(
    options: BoardOptions,
    watch: Annotated[bool, typer.Option("--watch", help="Refresh until Ctrl-C; needs a terminal.")] = False,
    json: Json = False,
) -> None:
    """Show every subscriber and publisher: state, how far behind, why, and what can be done about it."""
    if watch and (json or not out().is_terminal):
        raise ConfigError("--watch draws on a terminal; leave it out, and call again for a newer answer")
    section = options.load().config.retention

    async def look(board: Callboard) -> tuple[BoardStatus, list[Outlook]]:
        view = await board.status()
        return view, await outlooks(board, section, view.subscribers)

    async def watching(board: Callboard) -> None:
        with Live(console=out(), auto_refresh=False) as live:
            while True:
                live.update(draw(*await look(board)), refresh=True)
                await asyncio.sleep(REFRESH_S)

    if watch:
        on_board(options, watching)
        return
    view, left = on_board(options, look)
    if json:
        show_json(to_data(view) | {"outlook": [asdict(each) for each in left]})
        return
    out().print(draw(view, left))
    if view.problem:
        say(f"warning: {view.problem}")
    warn(section, left)
