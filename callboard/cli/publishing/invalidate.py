"""``callboard invalidate``: tells subscribers that paths changed."""

from typing import Annotated

import typer

from callboard.board.publisher import Publisher
from callboard.board.views import Package
from callboard.cli.options import BoardOptions, Json
from callboard.cli.publishing.requesting import Expect, Name, Recipients, RequestId, Wait, ship


def invalidate(
    options: BoardOptions,
    paths: Annotated[list[str], typer.Argument(help="Such as /blog.", show_default=False)],
    publisher: Name = "",
    request_id: RequestId = "",
    recipients: Recipients = None,
    expect: Expect = False,
    wait: Wait = None,
    json: Json = False,
) -> None:
    """Tell subscribers that paths changed, in order with content; their repositories stay as they are."""

    async def request(of: Publisher, _: bool) -> Package:
        return await of.invalidate(paths, request_id=request_id, recipients=recipients or (), expect=expect)

    ship(options, publisher, request, wait, recipients=recipients, json=json)
