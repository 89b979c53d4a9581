"""The board of a relay's site, as the relay sees it."""

from collections.abc import Sequence
from dataclasses import replace

from callboard.actors.core.agent import Agent
from callboard.actors.worlds.relay.site_board import SiteMember
from callboard.backends.blob_store import BlobStore
from callboard.backends.log import Log
from callboard.board.connect.agents import Agents
from callboard.board.connect.resources import Resources
from callboard.board.connect.settings import BoardSettings
from callboard.board.context import BoardContext
from callboard.board.read.status import status as statuses
from callboard.board.read.status.remedies import why
from callboard.board.views import SubscriberStatus, shown_state
from callboard.door.limits import ANSWER_S
from callboard.errors import LogUnavailable
from callboard.messages.distribution.topic_messages import SiteReport
from callboard.messages.topics import Topics


class SiteOnBoard:
    """A site on an open board. With ``opened`` it belongs to the relay alone, and is closed with it."""

    def __init__(self, board: BoardContext, opened: Resources | None = None) -> None:
        self._board, self._opened = board, opened

    @property
    def log(self) -> Log:
        """See ``SiteBoard``."""
        return self._board.log

    @property
    def blobs(self) -> BlobStore:
        """See ``SiteBoard``."""
        return self._board.blobs

    @property
    def topics(self) -> Topics:
        """See ``SiteBoard``."""
        return self._board.topics

    async def members(self) -> Sequence[SiteMember]:
        """See ``SiteBoard``."""
        return await members(await self._board.viewer(), self.log, self.topics.package, self._board.now_ns())

    async def close(self) -> None:
        """See ``SiteBoard``."""
        if self._opened is not None:
            await self._board.agents.close()
            await self._opened.close()


async def members(agent: Agent, log: Log, topic: str, now_ns: int) -> Sequence[SiteMember]:
    """The subscribers that this publisher's agent knows; ``topic`` is the package topic. Raises as ``SiteBoard``."""
    found = await statuses.board_status(agent, log, topic, now_ns, ANSWER_S)
    if found.problem:
        raise LogUnavailable(found.problem)
    known = await statuses.members(agent, "", ANSWER_S)
    reports = {each.announcement.subscriber: each.announcement.site for each in known}
    return [_member(row, reports.get(row.name), now_ns) for row in found.subscribers]


async def open_site(settings: BoardSettings) -> SiteOnBoard:
    """The site of a relay whose actors run in processes of their own."""
    resources = Resources(settings, create=False)
    await resources.open()
    return SiteOnBoard(BoardContext(resources, Agents(resources)), resources)


def _member(row: SubscriberStatus, report: SiteReport | None, now_ns: int) -> SiteMember:
    return SiteMember(
        name=row.name,
        instance=row.instance,
        state=shown_state(row),
        counts=row.counts,
        offset=row.offset,
        packages=row.lag_packages,
        oldest_ns=now_ns - int(row.lag_s * 1e9) if row.lag_packages > 0 and row.lag_s >= 0 else 0,
        attempts=row.attempts,
        errors=row.errors,
        needs=row.needs,
        reason=why(replace(each, remedies=()) for each in row.troubles),
        editable=row.editable,
        report=report,
    )
