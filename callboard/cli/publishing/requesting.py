"""The shared part of commands that send a request to a publisher."""

import sys
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Annotated

import typer

from callboard.board.connect.configured import add_configured_targets
from callboard.board.publisher import Publisher
from callboard.board.read.known_names import known_publishers
from callboard.board.views import Package
from callboard.cli.board import on_board
from callboard.cli.options import BoardOptions
from callboard.cli.publishing.waiting import wait_for_fleet
from callboard.cli.terminal.exit_codes import FOUND
from callboard.cli.terminal.output import say, show_result
from callboard.door.names import suggestion
from callboard.errors import RootFilled
from callboard.units import count, size

if TYPE_CHECKING:
    from callboard.board.board import Callboard

Name = Annotated[str, typer.Option("--publisher", metavar="NAME", help="Default: publisher.name in callboard.toml.")]
RequestId = Annotated[str, typer.Option(metavar="ID", help="A request repeated with the same id is shipped once.")]
Recipients = Annotated[list[str] | None, typer.Option("--to", metavar="NAME", help="To this one only; repeatable.")]
Expect = Annotated[bool, typer.Option("--expect", help="Accept unknown subscriber names in --to.")]
Wait = Annotated[
    float | None, typer.Option(metavar="SECONDS", min=0, help="Wait until all running subscribers have it.")
]


ReplaceRoot = Annotated[
    bool, typer.Option("--replace-root", help="Also replace content of another publisher or source.")
]


Request = Callable[[Publisher, bool], Awaitable[Package]]
"""Sends the request to a publisher; if true, it may replace what others filled."""


def ship(
    options: BoardOptions,
    publisher: str,
    request: Request,
    wait_s: float | None,
    *,
    recipients: list[str] | None,
    json: bool,
    create: bool | None = None,
    replace_root: bool = False,
    accepted: Callable[[], None] = lambda: None,
) -> None:
    """Send the request, report the outcome, and wait for the fleet if asked to."""
    config = options.load().config
    name = publisher or config.publisher.name

    async def work(board: "Callboard", replace_root: bool) -> tuple[Package, list[str]]:
        add_configured_targets(board.territory, config)
        if publisher:
            await _tell_new(board, name)
        package = await request(board.publisher(name), replace_root)
        show_result(package, _line(package), json=json)
        if package.state == "dropped":
            return package, []
        accepted()
        for line in remarks(package):
            say(line)
        if wait_s is None:
            return package, []
        return package, await wait_for_fleet(board, name, package.offset, wait_s, recipients or ())

    try:
        package, missing = on_board(options, lambda board: work(board, replace_root), create=create)
    except RootFilled as error:
        if not sys.stdin.isatty():
            raise
        say(str(error))
        typer.confirm("replace it?", abort=True, err=True)
        package, missing = on_board(options, lambda board: work(board, True))
    for line in missing:
        say(line)
    if missing or package.state == "dropped":
        raise typer.Exit(FOUND)


async def _tell_new(board: "Callboard", publisher: str) -> None:
    known = await known_publishers(board.log, board.settings.topics, [publisher])
    if known and publisher not in known:
        close = suggestion(publisher, known)
        say(f"publisher {publisher!r} is new on this log" + (f"; did you mean {close!r}?" if close else ""))


def remarks(package: Package) -> list[str]:
    """The remarks after the line of the package."""
    lines = [f"note: {package.note}"] if package.note else []
    if package.whole:
        lines.append(f"all of it was sent: {package.whole}")
    if package.expects:
        absent = ", ".join(package.expects)
        lines.append(f"not heard of yet: {absent}; they get it if they start while the log has it")
    return lines


def _line(package: Package) -> str:
    if package.state == "dropped":
        return f"nothing was shipped: {package.reason}"
    files = f"{count(package.unchanged_files, 'file')}, {size(package.unchanged_bytes)}"
    if package.state == "unchanged":
        return f"nothing was shipped: {package.reason}, at offset {package.offset} ({files}); --full sends it again"
    content = f", {count(package.entries, 'entry')}, {size(package.length)}" if package.entries else ""
    held_up = f", held up {package.throttled_s:.1f} s by {package.throttled_by}" if package.throttled_by else ""
    gone = f"; removed: {count(package.removed, 'path')}" if package.removed else ""
    rest = f"; unchanged: {files}" if package.unchanged_files else ""
    return f"{package.kind} {package.id} is at offset {package.offset}{content}{held_up}{gone}{rest}"
