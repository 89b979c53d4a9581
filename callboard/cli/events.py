"""``callboard events publish``, ``listen``, ``list``, ``listeners`` and ``forget``: events that services publish."""

import json as plain_json
import time
from typing import TYPE_CHECKING, Annotated

import typer

from callboard.cli.board import on_board
from callboard.cli.options import BoardOptions, Json
from callboard.cli.terminal.output import show, show_list, show_next, show_result
from callboard.errors import RequestRefused
from callboard.units import age

if TYPE_CHECKING:
    from callboard.board.board import Callboard
    from callboard.board.events.distributed_event import DistributedEvent
    from callboard.board.events.listeners import ListenerState

Topics = Annotated[list[str] | None, typer.Argument(help="Topics or patterns of topics; default: all.")]


def publish(
    options: BoardOptions,
    topic: Annotated[str, typer.Argument(help="What has happened, such as shop/price.", show_default=False)],
    properties: Annotated[str | None, typer.Argument(help="A JSON object.", show_default=False)] = None,
    json: Json = False,
) -> None:
    """Publish an event to all listeners."""
    try:
        value = {} if properties is None else plain_json.loads(properties)
    except (ValueError, RecursionError):
        value = properties
    if not isinstance(value, dict):
        raise RequestRefused("the properties are no JSON object; write them as '{\"cents\": 99}'")
    event = on_board(options, lambda board: board.events.publish(topic, value))
    show_result(event, f"{event.topic} is published, as {event.id}", json=json)


def listen(
    options: BoardOptions,
    topics: Topics = None,
    name: Annotated[str, typer.Option(help="Go on where the listener of this name was.")] = "",
    oldest: Annotated[bool, typer.Option("--oldest", help="Begin with the oldest event, if the name is new.")] = False,
    limit: Annotated[int, typer.Option(min=0, help="Stop after this many; 0: never.")] = 0,
    json: Json = False,
) -> None:
    """Show events as they come, until Ctrl-C."""

    async def work(board: "Callboard") -> None:
        shown = 0
        async with board.events.listen(topics or "**", name=name, oldest=oldest) as events:
            async for event in events:
                show_next(event, " ".join(_row(event)), json=json)
                shown += 1
                if shown == limit:
                    break

    on_board(options, work, endless=True)


def list_events(
    options: BoardOptions,
    topics: Topics = None,
    after: Annotated[str, typer.Option(metavar="CURSOR", help="Those after the event with this cursor.")] = "",
    limit: Annotated[int, typer.Option(min=1, max=1000, help="Show at most this many.")] = 20,
    json: Json = False,
) -> None:
    """List the newest events that services have published."""
    found = on_board(options, lambda board: board.events.find(topics or "**", after=after, limit=limit))
    none = "no event of these topics" if topics else "no events"
    show_list(found, ("AGE", "TOPIC", "FROM", "PROPERTIES"), _row, none=none, json=json)


def listeners(options: BoardOptions, json: Json = False) -> None:
    """Show the named listeners, and how far behind each is."""
    found = on_board(options, lambda board: board.events.listeners())
    columns = ("NAME", "<BEHIND>", "<OLDEST>", "<SEEN>", "<FAILED>", "<GIVEN UP>", "WHY")
    show_list(found, columns, _listener_row, none="no listener has a name", json=json)


def forget(
    options: BoardOptions, name: Annotated[str, typer.Argument(help="Of the listener.", show_default=False)]
) -> None:
    """Forget a named listener that has stopped."""
    if not on_board(options, lambda board: board.events.forget_listener(name)):
        raise RequestRefused(f"there is no listener {name!r}; see `callboard events listeners`", code="not_found")
    show(f"{name} is forgotten")


def _listener_row(its: "ListenerState") -> tuple[str, ...]:
    ages, failed = (age(its.oldest_s), age(its.seen_s)), (str(its.attempts or ""), str(its.given_up or ""))
    return its.name, str(its.behind), *ages, *failed, its.problem or its.reason


def _row(event: "DistributedEvent") -> tuple[str, ...]:
    since = age(max(0.0, time.time() - event.time_ms / 1000))
    return since, event.topic, event.instance, plain_json.dumps(event.properties, ensure_ascii=False)
