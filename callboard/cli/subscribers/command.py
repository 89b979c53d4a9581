"""``callboard retry``, ``skip``, ``pause``, ``resume`` and ``throttle``: commands to a subscriber."""

from typing import Annotated

import typer

from callboard.board.command.wording import told
from callboard.board.views import CommandResult
from callboard.cli.board import Work
from callboard.cli.commanding import Said, commanding
from callboard.cli.terminal.exit_codes import FOUND, USAGE
from callboard.cli.terminal.output import say, show, show_json

Name = Annotated[str, typer.Argument(metavar="NAME", help="The subscriber, or SITE/SUBSCRIBER.")]
Force = Annotated[bool, typer.Option("--force", help="Accept an unknown name: it applies when that first starts.")]
Offset = Annotated[int | None, typer.Argument(metavar="[OFFSET]", min=0, help="The package; default: the head.")]
Sent = Work[CommandResult]


def report(done: CommandResult | tuple[CommandResult, ...], *, json: bool) -> None:
    """Show the results of one or many commands; the exit code is that of the worst."""
    results = done if isinstance(done, tuple) else (done,)
    if json:
        show_json(done)
    for result in results:
        if not result.accepted:
            say(told(result))
        elif not json:
            show(told(result))
    if not results and not json:
        show("no editable subscriber has anything queued")
    if any(result.accepted is False for result in results):
        raise typer.Exit(USAGE)
    if any(result.accepted is None for result in results):
        raise typer.Exit(FOUND)


@commanding(report)
def retry(
    said: Said,
    subscriber: Name,
    offset: Offset = None,
    without_golden: Annotated[
        bool, typer.Option("--without-golden", help="Import it without the golden subscriber's verdict.")
    ] = False,
) -> Sent:
    """Have a subscriber retry now what it waits for, quarantined, or gave up."""
    return lambda board: board.retry(subscriber, offset, without_golden=without_golden, **said)


@commanding(report)
def skip(said: Said, subscriber: Name, offset: Offset = None) -> Sent:
    """Have a subscriber skip one package for good, or dismiss one that it gave up."""
    return lambda board: board.skip(subscriber, offset, **said)


@commanding(report)
def pause(said: Said, subscriber: Name, force: Force = False) -> Sent:
    """Have a subscriber import nothing until `callboard resume`."""
    return lambda board: board.pause(subscriber, **said, force=force)


@commanding(report)
def resume(said: Said, subscriber: Name) -> Sent:
    """End the pause of a subscriber."""
    return lambda board: board.resume(subscriber, **said)


@commanding(report)
def throttle(
    said: Said,
    subscriber: Name,
    packages_per_min: Annotated[int, typer.Argument(metavar="PER_MINUTE", min=0, help="0 lifts the limit.")],
    force: Force = False,
) -> Sent:
    """Limit a subscriber to this many packages a minute."""
    return lambda board: board.throttle(subscriber, packages_per_min, **said, force=force)
