"""``callboard events``: shows the events of packages."""

import time
from collections import deque
from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from callboard.board.read.events import BoardEvent
from callboard.board.read.known_names import demand_publisher
from callboard.board.views import shortened
from callboard.cli.board import on_board
from callboard.cli.options import BoardOptions, Json, Limit, PublisherName
from callboard.cli.terminal.output import say, show_list, show_next
from callboard.errors import ConfigError, RequestRefused
from callboard.messages.distribution.package_event import KINDS
from callboard.units import age

if TYPE_CHECKING:
    from callboard.board.board import Callboard

NO_WRITER = "only a long-running publisher (`callboard run publisher`, or a service) writes them"


def events(
    options: BoardOptions,
    publisher: PublisherName = "",
    kind: Annotated[list[str] | None, typer.Option(metavar="KIND", help=f"{', '.join(KINDS)}; repeatable.")] = None,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Then wait for new ones.")] = False,
    after: Annotated[int | None, typer.Option(metavar="POSITION", help="Events after this one; -1: all.")] = None,
    limit: Limit = 20,
    json: Json = False,
) -> None:
    """Show the newest events: what happened to packages, as running publishers record it; runs without a name."""
    if unknown := set(kind or ()).difference(KINDS):
        raise ConfigError(f"there are no events {min(unknown)!r}; choose among {', '.join(KINDS)}")
    shown = partial(_show, publisher=publisher, kinds=kind or (), after=after, limit=limit, follow=follow, json=json)
    on_board(options, shown, endless=follow)


async def _show(
    board: "Callboard", publisher: str, kinds: Iterable[str], after: int | None, limit: int, *, follow: bool, json: bool
) -> None:
    if follow:
        first, end = await board.log.bounds(board.settings.topics.event)
        if first == end:
            say(f"no events yet; {NO_WRITER}")
        try:
            await demand_publisher(board.log, board.settings.topics, publisher)
        except RequestRefused as error:
            say(f"{error}; waiting for it")
        async for event in board.events(publisher, kinds, after):
            show_next(event, " ".join(_row(event)), json=json)
        return
    found = deque[BoardEvent](maxlen=limit)
    async for event in board.events(publisher, kinds, after, follow=False):
        if after is not None and len(found) == limit:
            break
        found.append(event)
    columns = ("<POSITION>", "AGE", "EVENT", "PUBLISHER", "<OFFSET>", "ABOUT")
    show_list(found, columns, _row, none=f"no events; {NO_WRITER}", json=json)


def _row(event: BoardEvent) -> tuple[str, ...]:
    who = f"{event.subscriber}: {event.outcome} {event.reason}".rstrip() if event.subscriber else ""
    about = " ".join(text for text in (who, event.request, shortened(event.paths)) if text)
    since = age((time.time_ns() - event.time_ns) / 1e9)
    return str(event.position), since, event.kind, event.publisher, str(event.offset), about
