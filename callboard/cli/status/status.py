"""``callboard status``: shows how far each subscriber is, what is wrong, and what to do about it."""

import asyncio
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated

import typer

from callboard.board.entities.health.fold_report import FoldReport
from callboard.board.envelope import fields_of
from callboard.board.read.status.retention_forecast import RetentionForecast
from callboard.board.read.status.selection import Selection, Sort
from callboard.board.site_status import SiteStatus
from callboard.board.views import BoardStatus
from callboard.cli.board import on_board
from callboard.cli.log.retention import retention_forecasts, warn
from callboard.cli.options import BoardOptions, Json
from callboard.cli.terminal.output import say, show, show_drawn, show_json
from callboard.errors import ConfigError
from callboard.messages.headers import SEPARATOR

if TYPE_CHECKING:
    from callboard.board.board import Callboard

Looked = tuple[BoardStatus, list[RetentionForecast], tuple[FoldReport, ...]]

REFRESH_S = 1.0
"""Subscribers announce a change at most once a second."""


def status(
    options: BoardOptions,
    names: Annotated[
        list[str] | None,
        typer.Argument(help="Subscribers, patterns such as 'edge-*', or SITE/SUBSCRIBER.", show_default=False),
    ] = None,
    needs: Annotated[bool, typer.Option("--needs", help="Only those that need attention.")] = False,
    state: Annotated[
        list[str] | None, typer.Option(metavar="STATE", help="Only those in this state; repeatable.")
    ] = None,
    sort: Annotated[Sort, typer.Option(help="Sort by this; the worst come first.")] = Sort.NEEDS,
    watch: Annotated[bool, typer.Option("--watch", help="Refresh until Ctrl-C; needs a terminal.")] = False,
    json: Json = False,
) -> None:
    """Show every subscriber and publisher: state, how far behind, why, and which command helps.

    For the name of a relay, it also shows the site behind it.
    """
    behind = [name for name in names or () if SEPARATOR in name]
    plain = tuple(name for name in names or () if SEPARATOR not in name)
    selection = Selection(plain, tuple(state or ()), needs, sort)
    if watch and (json or behind or not sys.stdout.isatty()):
        raise ConfigError("--watch needs a terminal, and is not for --json or SITE/SUBSCRIBER; leave one out")
    from callboard.cli.status.status_screen import Screen

    section = options.load().config.retention

    async def look(board: "Callboard") -> Looked:
        view = await board.status()
        return view, await retention_forecasts(board, section, view.subscribers), await board.folds()

    async def watching(board: "Callboard") -> None:
        from rich.live import Live

        from callboard.cli.terminal.screen import screen

        with Live(console=screen(), auto_refresh=False) as live:
            while True:
                view, left, folds = await look(board)
                live.update(Screen(view, left, selection, folds, fit=True), refresh=True)
                await asyncio.sleep(REFRESH_S)

    async def with_sites(board: "Callboard") -> tuple[Looked, list[SiteStatus]]:
        return (found := await look(board)), await _sites(board, found[0], names or ())

    if watch:
        on_board(options, watching, endless=True)
        return
    (view, left, folds), sites = on_board(options, with_sites)
    if json:
        told = {"retention_forecast": left, "folds": folds, "sites": sites}
        show_json(fields_of(selection.status(view)) | told)
        return
    if whole := bool(plain) or not behind:
        show_drawn(Screen(view, left, selection, folds))
    _show(sites, apart=whole)
    if view.problem:
        say(f"warning: {view.problem}")
    warn(section, left)


async def _sites(board: "Callboard", view: BoardStatus, names: Iterable[str]) -> list[SiteStatus]:
    """The sites of those names that are relays, or behind one."""
    relays = {row.name for row in view.subscribers if row.site is not None}
    return [await board.site_status(name) for name in names if name in relays or SEPARATOR in name]


def _show(sites: Iterable[SiteStatus], *, apart: bool) -> None:
    from callboard.cli.status.sites_table import site_tree

    for site in sites:
        if apart:
            show("")
        show_drawn(site_tree(site))
        apart = True
