"""``callboard events``: what becomes of packages."""

import json as json_module
import time
from collections import deque
from collections.abc import Iterable
from dataclasses import asdict
from typing import Annotated

import typer

from callboard.app.board import Callboard
from callboard.app.events import BoardEvent
from callboard.app.views import shortened
from callboard.cli.board import on_board
from callboard.cli.options import BoardOptions, Json, Limit, PublisherName
from callboard.cli.output import age, show, show_json, show_table
from callboard.errors import ConfigError
from callboard.messages.package_event import KINDS


def events(
    options: BoardOptions,
    publisher: PublisherName = "",
    kind: Annotated[
        list[str] | None, typer.Option(metavar="KIND", help=f"{', '.join(KINDS)}; may be repeated.")
    ] = None,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on with what comes, a line each.")] = False,
    after: Annotated[
        int | None, typer.Option(metavar="POSITION", help="What comes after this event; -1 is everything.")
    ] = None,
    limit: Limit = 20,
    json: Json = False,
) -> None:
    """Show what became of packages: the newest events, or those that come. With --follow --json, an object a line."""
    if strangers := set(kind or ()).difference(KINDS):
        raise ConfigError(f"there are no events {min(strangers)!r}; choose among {', '.join(KINDS)}")
    on_board(options, lambda board: _show(board, publisher, kind or (), after, limit, follow=follow, json=json))


async def _show(
    board: Callboard, publisher: str, kinds: Iterable[str], after: int | None, limit: int, *, follow: bool, json: bool
) -> None:
    if follow:
        async for event in board.events(publisher, kinds, after):
            show(json_module.dumps(asdict(event), ensure_ascii=False) if json else " ".join(_row(event)))
        return
    found = deque[BoardEvent](maxlen=limit)
    async for event in board.events(publisher, kinds, after, follow=False):
        if after is not None and len(found) == limit:
            break
        found.append(event)
    if json:
        show_json([asdict(event) for event in found])
    elif not found:
        show("no events")
    else:
        show_table(("<POSITION>", "AGE", "EVENT", "PUBLISHER", "<OFFSET>", "ABOUT"), map(_row, found))


def _row(event: BoardEvent) -> tuple[str, ...]:
    who = f"{event.subscriber}: {event.outcome} {event.reason}".rstrip() if event.subscriber else ""
    about = " ".join(text for text in (who, event.request, shortened(event.paths)) if text)
    since = age((time.time_ns() - event.time_ns) / 1e9)
    return str(event.position), since, event.kind, event.publisher, str(event.offset), about
