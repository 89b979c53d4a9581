"""What all parts of a board share."""

import asyncio
import secrets
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING

from callboard.actors.core.agent import Agent
from callboard.backends.blob_store import BlobStore
from callboard.backends.log import Log
from callboard.board.connect.agents import Agents
from callboard.board.connect.resources import Resources
from callboard.board.connect.settings import BoardSettings
from callboard.board.connect.territory import Territory
from callboard.errors import CallboardError
from callboard.messages.topics import Topics

if TYPE_CHECKING:
    from callboard.board.entities.health.announcements import FoldAnnouncements
    from callboard.board.jobs.adding import JobAdder
    from callboard.board.jobs.reading import JobReading
    from callboard.board.topology.reading import Reading


def new_id() -> str:
    """A unique id."""
    return secrets.token_hex(16)


class BoardContext:
    """The board as seen by its parts, which do not know each other's state. It survives closing the board.

    Args:
        resources: the log, the blob store and the settings.
        agents: the running agents.
        now_ns: the clock that dates everything on the log, in nanoseconds since the epoch.
        new_id: makes the ids of records.
    """

    def __init__(
        self,
        resources: Resources,
        agents: Agents,
        now_ns: Callable[[], int] = time.time_ns,
        new_id: Callable[[], str] = new_id,
    ) -> None:
        self.resources, self.agents = resources, agents
        self.now_ns, self.new_id = now_ns, new_id
        self.instance = socket.gethostname()
        """What distributed events come from: the member that this process is, or else its host."""
        self.territory = Territory(resources.settings)
        """The folders in use, so that no subscriber imports over the log, the blob store or a source."""
        self.cluster: Reading | None = None
        """What was read of the control topic; each question about the cluster continues there."""
        self.jobs: JobReading | None = None
        """What was read of the job topic."""
        self.adding: JobAdder | None = None
        """Appends new jobs."""
        self.folds: FoldAnnouncements | None = None
        """What was read of the announcements of folds."""
        self.sites: dict[str, asyncio.Task[BoardContext]] = {}
        """The boards of sites that were opened, by the names of their relays."""

    @cached_property
    def incarnation(self) -> str:
        """Identifies this object among all that publish events."""
        return self.new_id()

    @property
    def settings(self) -> BoardSettings:
        """The board's settings."""
        return self.resources.settings

    @property
    def topics(self) -> Topics:
        """The topics of the log."""
        return self.resources.settings.topics

    @property
    def log(self) -> Log:
        """The open log. Raises ``ConfigError`` if the board is not open."""
        return self.resources.log

    @property
    def blobs(self) -> BlobStore:
        """The open blob store. Raises ``ConfigError`` if the board is not open."""
        return self.resources.blobs

    async def close(self) -> None:
        """Close the sites that were opened, the agents, the log and the blob store. Idempotent."""
        opened, self.sites = self.sites, {}
        for site in opened.values():
            site.cancel()
            with suppress(CallboardError, asyncio.CancelledError):
                await (await site).close()
        await self.agents.close()
        await self.resources.close()

    async def viewer(self) -> Agent:
        """An agent that can answer questions about the board."""
        return await self.agents.viewer()
