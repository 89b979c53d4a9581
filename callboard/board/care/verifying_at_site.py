"""Compares the content of a subscriber of a site with what the site's log says it should have."""

from dataclasses import replace

from callboard.actors.worlds.relay.offsets import Offsets
from callboard.board.care.verifying import Verified, compare
from callboard.board.command.commands import list_content
from callboard.board.context import BoardContext
from callboard.board.read.questions import member
from callboard.board.read.sites.site_board import find_at_site
from callboard.errors import NotAnswered, RequestRefused
from callboard.messages.headers import SEPARATOR


async def verify_at_site(board: BoardContext, subscriber: str, paths: tuple[str, ...], timeout_s: float) -> Verified:
    """As ``verify``: the command goes by the relay, so that the list is of the subscriber that the relay speaks for."""
    its = await find_at_site(board, subscriber, timeout_s)
    if its.board is None or SEPARATOR in its.name:
        raise RequestRefused(its.unknown(f"what {subscriber} should have", "verify {}"), code="at_site")
    with its.naming_site():
        said = (await member(its.board, its.name, timeout_s)).announcement
    result = await list_content(board, subscriber, paths, timeout_s=timeout_s)
    if result.accepted is None:
        raise NotAnswered(result.reason)
    if not result.accepted:
        raise RequestRefused(f"{subscriber} does not list its content: {result.reason}", code="declined")
    topic = its.board.topics.package
    offsets = Offsets(its.board.log, topic, its.relay.announcement.subscriber, its.log_id)
    lacks, end = await offsets.first_from_source(result.position + 1), (await its.board.log.bounds(topic)).end
    there = replace(result, position=(lacks.record.offset if lacks is not None else end) - 1)
    found = await compare(its.board, said, there, paths)
    at = await its.origins(each.offset for each in found.differences if each.offset >= 0)
    differences = tuple(replace(each, offset=at.get(each.offset, -1)) for each in found.differences)
    return replace(found, subscriber=subscriber, offset=result.position, differences=differences)
