"""``callboard retry``, ``skip``, ``pause``, ``resume`` and ``throttle``: commands to a subscriber."""

from typing import Annotated

import typer

from callboard.board.command.commands import CommandOptions
from callboard.board.views import CommandResult, to_data
from callboard.cli.board import on_board
from callboard.cli.options import BoardOptions, Json
from callboard.cli.terminal.exit_codes import FOUND, USAGE
from callboard.cli.terminal.output import count, say, show, show_json

DONE = {
    "clear": "skipped", "retry": "retries", "skip": "skipped", "pause": "is paused", "resume": "has resumed",
    "throttle": "has the new limit",
}  # fmt: skip
"""What a subscriber has done, for people. The result of ``verify`` is shown by its own command."""

Name = Annotated[str, typer.Argument(metavar="NAME", help="The subscriber.")]
Reason = Annotated[str, typer.Option(help="For the record.")]
Author = Annotated[str, typer.Option(metavar="WHO", help="For the record; default: you.")]
Force = Annotated[bool, typer.Option("--force", help="Accept an unknown name: it applies when that first starts.")]
Wait = Annotated[float, typer.Option(metavar="SECONDS", min=0, help="How long to wait for the result.")]
Offset = Annotated[int | None, typer.Argument(metavar="[OFFSET]", min=0, help="The package; default: the head.")]


def retry(
    options: BoardOptions,
    subscriber: Name,
    offset: Offset = None,
    without_golden: Annotated[
        bool, typer.Option("--without-golden", help="Import it without the golden subscriber's verdict.")
    ] = False,
    reason: Reason = "",
    author: Author = "",
    wait: Wait = 30.0,
    json: Json = False,
) -> None:
    """Have a subscriber retry now what it waits for, quarantined, or gave up."""
    said = CommandOptions(reason=reason, author=author, timeout_s=wait)
    work = on_board(options, lambda board: board.retry(subscriber, offset, without_golden=without_golden, **said))
    report(work, json=json)


def skip(
    options: BoardOptions,
    subscriber: Name,
    offset: Offset = None,
    reason: Reason = "",
    author: Author = "",
    wait: Wait = 30.0,
    json: Json = False,
) -> None:
    """Have a subscriber skip one package for good, or dismiss one that it gave up."""
    said = CommandOptions(reason=reason, author=author, timeout_s=wait)
    report(on_board(options, lambda board: board.skip(subscriber, offset, **said)), json=json)


def pause(
    options: BoardOptions,
    subscriber: Name,
    reason: Reason = "",
    author: Author = "",
    force: Force = False,
    wait: Wait = 30.0,
    json: Json = False,
) -> None:
    """Have a subscriber import nothing until `callboard resume`."""
    said = CommandOptions(reason=reason, author=author, force=force, timeout_s=wait)
    report(on_board(options, lambda board: board.pause(subscriber, **said)), json=json)


def resume(
    options: BoardOptions,
    subscriber: Name,
    reason: Reason = "",
    author: Author = "",
    wait: Wait = 30.0,
    json: Json = False,
) -> None:
    """End the pause of a subscriber."""
    said = CommandOptions(reason=reason, author=author, timeout_s=wait)
    report(on_board(options, lambda board: board.resume(subscriber, **said)), json=json)


def throttle(
    options: BoardOptions,
    subscriber: Name,
    packages_per_min: Annotated[int, typer.Argument(metavar="PER_MINUTE", min=0, help="0 lifts the limit.")],
    reason: Reason = "",
    author: Author = "",
    force: Force = False,
    wait: Wait = 30.0,
    json: Json = False,
) -> None:
    """Limit a subscriber to this many packages a minute."""
    said = CommandOptions(reason=reason, author=author, force=force, timeout_s=wait)
    report(on_board(options, lambda board: board.throttle(subscriber, packages_per_min, **said)), json=json)


def report(done: CommandResult | tuple[CommandResult, ...], *, json: bool) -> None:
    """Show the results of one or many commands; the exit code is that of the worst."""
    results = done if isinstance(done, tuple) else (done,)
    if json:
        show_json([to_data(result) for result in results] if isinstance(done, tuple) else to_data(done))
    for result in results:
        if result.accepted and not json:
            show(_done(result))
        elif not result.accepted:
            say(f"refused by {result.subscriber}: {result.reason}" if result.accepted is False else result.reason)
    if not results and not json:
        show("no editable subscriber has anything queued")
    if any(result.accepted is False for result in results):
        raise typer.Exit(USAGE)
    if any(result.accepted is None for result in results):
        raise typer.Exit(FOUND)


def _done(result: CommandResult) -> str:
    packages = f" {count(result.packages, 'package')}" if result.command in ("clear", "skip", "retry") else ""
    reason = f" ({result.reason})" if result.reason else ""
    return f"{result.subscriber} {DONE[result.command]}{packages}{reason}"
