"""``callboard test``: tests the way from publisher to subscribers."""

from callboard.board.publisher import Publisher
from callboard.board.views import Package
from callboard.cli.options import BoardOptions, Json
from callboard.cli.publishing.requesting import Expect, Name, Recipients, RequestId, Wait, ship


def send_test(
    options: BoardOptions,
    publisher: Name = "",
    request_id: RequestId = "",
    recipients: Recipients = None,
    expect: Expect = False,
    wait: Wait = None,
    json: Json = False,
) -> None:
    """Append a package that does nothing; with --wait, check that all live subscribers process it."""

    async def request(of: Publisher, _: bool) -> Package:
        return await of.test(request_id=request_id, recipients=recipients or (), expect=expect)

    ship(options, publisher, request, wait, recipients=recipients, json=json)
