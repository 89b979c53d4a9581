"""The board of a relay's site, as the relay sees it."""

from collections.abc import Sequence

from callboard.actors.worlds.relay.site_board import SiteMember
from callboard.backends.blob_store import BlobStore
from callboard.backends.log import Log
from callboard.board.connect.agents import Agents
from callboard.board.connect.resources import Resources
from callboard.board.connect.settings import BoardSettings
from callboard.board.context import BoardContext
from callboard.board.read.sites.members import members
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


async def open_site(settings: BoardSettings) -> SiteOnBoard:
    """The site of a relay whose actors run in processes of their own."""
    resources = Resources(settings, create=False)
    await resources.open()
    return SiteOnBoard(BoardContext(resources, Agents(resources)), resources)
