"""``callboard publish``: ships content."""

from pathlib import Path
from typing import Annotated

import typer

from callboard.board.publisher import Publisher
from callboard.board.views import Package
from callboard.cli.options import BoardOptions, Create, Json
from callboard.cli.publishing.requesting import Expect, Name, Recipients, ReplaceRoot, RequestId, Wait, ship
from callboard.cli.terminal.output import say
from callboard.config.placement import placement, remember
from callboard.errors import ConfigError


def publish(
    options: BoardOptions,
    source: Annotated[Path, typer.Argument(help="A folder.", show_default=False)],
    paths: Annotated[list[str] | None, typer.Argument(help="Paths in it to ship, such as /blog; default: all.")] = None,
    at: Annotated[
        str, typer.Option(metavar="/PREFIX", help="Where the folder goes at subscribers; callboard.toml remembers it.")
    ] = "",
    shallow: Annotated[bool, typer.Option("--shallow", help="Only these entries, not what is below them.")] = False,
    full: Annotated[bool, typer.Option("--full", help="Whole trees, not only what differs from the log.")] = False,
    publisher: Name = "",
    request_id: RequestId = "",
    recipients: Recipients = None,
    expect: Expect = False,
    replace_root: ReplaceRoot = False,
    wait: Wait = None,
    create: Create = False,
    json: Json = False,
) -> None:
    """Ship what changed in a folder, or in paths in it, as one package."""
    loaded = options.load()
    name = publisher or loaded.config.publisher.name
    place = placement(loaded, name, source, at)

    async def request(of: Publisher, replace_root: bool) -> Package:
        return await of.publish(
            source,
            paths or ("/",),
            at=place.at,
            deep=not shallow,
            full=full,
            source_name=place.name,
            replace_root=replace_root,
            request_id=request_id,
            recipients=recipients or (),
            expect=expect,
        )

    def accepted() -> None:
        if not at:
            return
        try:
            if file := remember(loaded, name, source, at):
                before = placement(loaded, name, source)
                say(f"{file} now says that {source} goes to {at}")
                if before.name is not None:
                    say(f"what it shipped to {before.at} stays there until it is deleted")
        except ConfigError as error:
            say(f"warning: callboard.toml does not record that {source} goes to {at}: {error}")

    ship(
        options,
        publisher,
        request,
        wait,
        recipients=recipients,
        json=json,
        create=create,
        replace_root=replace_root,
        accepted=accepted,
    )
