"""``callboard delete``: removes content from subscribers."""

from typing import Annotated

import typer

from callboard.board.publisher import Publisher
from callboard.board.views import Package
from callboard.cli.options import BoardOptions, Json
from callboard.cli.publishing.requesting import Expect, Name, Recipients, ReplaceRoot, RequestId, Wait, ship


def delete(
    options: BoardOptions,
    paths: Annotated[list[str], typer.Argument(help="Such as /blog/old.html.", show_default=False)],
    publisher: Name = "",
    request_id: RequestId = "",
    recipients: Recipients = None,
    expect: Expect = False,
    replace_root: ReplaceRoot = False,
    wait: Wait = None,
    json: Json = False,
) -> None:
    """Remove paths, and everything below them, from the subscribers."""

    async def request(of: Publisher, replace_root: bool) -> Package:
        return await of.delete(
            paths, replace_root=replace_root, request_id=request_id, recipients=recipients or (), expect=expect
        )

    ship(options, publisher, request, wait, recipients=recipients, json=json, replace_root=replace_root)
