"""Sends no more than what changed, and nothing if the log has that already."""

import asyncio
import stat
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from callboard.board.changed.changed import Changed, changed, overtaken
from callboard.board.command.same_request import demand_same_request
from callboard.board.context import BoardContext
from callboard.board.read.log.log_records import opened, record_at
from callboard.board.views import Package
from callboard.messages.distribution.mailbox import DistributeRequest
from callboard.messages.distribution.topic_messages import PackageMessage

OVERTAKEN = "another package to the same paths came in between, so all was sent after it"


class Send(Protocol):
    """Has a request carried out, which may be a part of what was ``asked_for``."""

    async def __call__(self, request: DistributeRequest, asked_for: DistributeRequest | None = None) -> Package:
        """The package."""


async def only_changed(
    board: BoardContext, publisher: str, request: DistributeRequest, old_reader: str, send: Send
) -> Package:
    """Send what differs from the log; see ``changed`` for the arguments. If only files are named, all are sent: to
    compare a few costs more than to send them.
    """
    if not await asyncio.to_thread(_names_a_folder, request):
        return await send(request)
    found = await changed(board, publisher, request, old_reader)
    if found.shipped >= 0:
        return await _shipped_before(board, request, found.shipped)
    if found.whole:
        return replace(await send(request), whole=found.whole if found.offset >= 0 else "")  # the first one is no news
    if not found.paths:
        return _with_rest(found, Package(
            "", found.offset, request.kind.name, publisher, request.paths, length=0, state="unchanged",
            reason="nothing differs from what the log has",
        ))  # fmt: skip
    package = await send(found.applied(request), request)
    if await overtaken(board, publisher, request, found.next, package.offset):
        again = replace(request, request_id=board.new_id())  # not a retry of the first, which is on the log
        return replace(await send(again), whole=OVERTAKEN)
    return _with_rest(found, package)


def _names_a_folder(request: DistributeRequest) -> bool:
    folder = Path(request.source)
    for path in request.paths:
        try:
            if stat.S_ISDIR((folder / path.removeprefix(request.at).lstrip("/")).lstat().st_mode):
                return True
        except (OSError, ValueError):  # it is refused when it is packed
            continue
    return False


def _with_rest(found: Changed, package: Package) -> Package:
    return replace(package, removed=found.removed, unchanged_files=found.same_files, unchanged_bytes=found.same_bytes)


async def _shipped_before(board: BoardContext, request: DistributeRequest, offset: int) -> Package:
    """The answer to a request that is repeated: its package, though the folder may differ by now."""
    message = opened(await record_at(board.log, board.topics.package, offset))
    assert isinstance(message, PackageMessage), "it was one when its request id was read"
    await demand_same_request(board.log, board.topics.package, request, offset, part=True)
    return Package(
        message.package_id, offset, message.kind.name, message.publisher, message.paths,
        length=message.fetched_bytes, entries=message.entries,
    )  # fmt: skip
