"""Starts the agent of a relay, whose world has two logs."""

from functools import partial

from callboard.actors import subscriber
from callboard.actors.core.agent import Agent, AgentSpec, World
from callboard.actors.runtime import SystemClock
from callboard.actors.subscriber import SubscriberSettings
from callboard.actors.worlds.relay.relay_world import RelayWorld
from callboard.backends.blob_store import BlobStore
from callboard.backends.log import Log
from callboard.backends.repositories import open_repository
from callboard.backends.repositories.occupation import ADVICE
from callboard.board.connect.opening import open_board_blobs, open_board_log, subscriber_spool
from callboard.board.connect.settings import BoardSettings
from callboard.board.context import BoardContext, new_id
from callboard.board.read.sites.site import SiteOnBoard, open_site
from callboard.content.importing.target import Target
from callboard.errors import RepositoryOccupied


async def start(board: BoardContext, site: BoardContext, settings: SubscriberSettings) -> Agent:
    """The running agent of a relay from the board to the site."""
    name = f"relay {settings.name}"
    world = partial(open_relay_world, board.settings, site.settings, settings)
    if board.agents.embedded:
        world = partial(_shared_world, board, site, settings)
    return await board.agents.start(AgentSpec(name, subscriber.actors(settings), world))


async def _shared_world(board: BoardContext, site: BoardContext, settings: SubscriberSettings) -> World:
    return _world(board.settings, board.log, board.blobs, SiteOnBoard(site), settings, owned=False)


async def open_relay_world(board: BoardSettings, site: BoardSettings, settings: SubscriberSettings) -> World:
    """The world of a relay's actor in its own process."""
    there = await open_site(site)
    return _world(board, open_board_log(board), open_board_blobs(board), there, settings, owned=True)


class _Ledger(Target):
    """The repository of a relay, which has no content to keep or to remove."""

    async def open(self, occupied: bool = False) -> bytes:
        """See ``Repository.open``."""
        try:
            return await super().open(occupied)
        except RepositoryOccupied as error:
            raise RepositoryOccupied(str(error).replace(ADVICE, "choose an empty place for the ledger")) from None


def _world(
    board: BoardSettings, log: Log, blobs: BlobStore, site: SiteOnBoard, settings: SubscriberSettings, *, owned: bool
) -> RelayWorld:
    return RelayWorld(
        settings.name,
        log,
        blobs,
        subscriber_spool(settings.name, settings.repository, board.base),
        topics=board.topics,
        ledger=_Ledger(open_repository(settings.repository, board.base)),
        site=site,
        clock=SystemClock(),
        new_id=new_id,
        everything=settings.start == "earliest" and not (settings.follows or settings.include or settings.exclude),
        owned=owned,
    )
