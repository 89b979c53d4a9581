"""``callboard publish``: ship content."""

from pathlib import Path
from typing import Annotated

import typer

from callboard.app.publisher import Publisher
from callboard.app.views import Package
from callboard.cli.options import BoardOptions, Json
from callboard.cli.requesting import Name, Recipients, RequestId, Wait, ship


def publish(
    options: BoardOptions,
    source: Annotated[Path, typer.Argument(help="A folder.", show_default=False)],
    paths: Annotated[
        list[str] | None, typer.Argument(help="What to ship of it, such as /blog; all if not given.")
    ] = None,
    shallow: Annotated[bool, typer.Option("--shallow", help="Just these entries, not what lies below.")] = False,
    publisher: Name = "",
    request_id: RequestId = "",
    recipients: Recipients = None,
    wait: Wait = None,
    json: Json = False,
) -> None:
    """Ship a folder, or paths in it, as one package. Creates the log if there is none."""

    async def request(of: Publisher) -> Package:
        return await of.publish(
            source, paths or ("/",), deep=not shallow, request_id=request_id, recipients=recipients or ()
        )

    ship(options, publisher, request, wait, json=json, create=True)
