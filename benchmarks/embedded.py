"""Runs subscribers on the log, blob store and repository of a benchmark, and reports their effects to it."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

from callboard.actors import subscriber
from callboard.actors.core.agent import Agent, AgentSpec, World
from callboard.actors.core.decision import Perform
from callboard.actors.runtime import start_agent
from callboard.actors.subscriber import SubscriberSettings, roles
from callboard.actors.worlds.world import AgentWorld
from callboard.backends.blob_store import BlobStore
from callboard.backends.log import Log
from callboard.backends.repository import Repository
from callboard.messages.distribution.mailbox import CaughtUpQuery

CATCH_UP_S = 3600.0

Watch = Callable[[Perform], None]


class WatchedWorld:
    """The world of an agent; reports every effect that was performed."""

    def __init__(self, world: AgentWorld, watch: Watch) -> None:
        self._world, self._watch = world, watch

    async def perform(self, effect: Perform) -> Any:
        """See ``World``."""
        result = await self._world.perform(effect)
        self._watch(effect)
        return result

    async def close(self) -> None:
        """See ``World``."""
        await self._world.close()


async def start_subscriber(
    settings: SubscriberSettings, log: Log, blobs: BlobStore, repository: Repository, spool: Path, watch: Watch
) -> Agent:
    """A subscriber on this event loop."""

    async def world() -> World:
        return WatchedWorld(AgentWorld(log, blobs, spool, repository=repository), watch)

    return await start_agent(AgentSpec(f"subscriber {settings.name}", subscriber.actors(settings), world))


async def caught_up(agent: Agent) -> None:
    """Wait until everything that is on the log now is imported."""
    await agent.ask(roles.IMPORTER, CaughtUpQuery(), CATCH_UP_S)


def unwatched(_: Perform) -> None:
    """Ignore the effect."""


class DistantBlobs:
    """A blob store that takes at least ``delay_s`` to answer, as one on a network does."""

    def __init__(self, blobs: BlobStore, delay_s: float) -> None:
        self._blobs, self._delay_s = blobs, delay_s

    def __getattr__(self, name: str) -> Any:
        return getattr(self._blobs, name)

    async def fetch(self, digest: str, folder: Path) -> Path:
        """See ``BlobStore``."""
        await asyncio.sleep(self._delay_s)
        return await self._blobs.fetch(digest, folder)
