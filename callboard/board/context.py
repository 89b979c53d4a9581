"""What all that a board can do shares."""

import secrets
import time
from collections.abc import Callable

from callboard.actors.core.agent import Agent
from callboard.backends.blob_store import BlobStore
from callboard.backends.log import Log
from callboard.board.connect.agents import Agents
from callboard.board.connect.resources import Resources
from callboard.board.connect.settings import BoardSettings
from callboard.board.connect.territory import Territory
from callboard.messages.topics import Topics


def new_id() -> str:
    """An id that nobody else has."""
    return secrets.token_hex(16)


class BoardContext:
    """The board as its parts know it, none of which knows another one's state. It outlives that the board is closed.

    Args:
        resources: the log, the blob store and the settings.
        agents: who runs for it.
        now_ns: the clock that everything on the log is dated by.
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
        self.territory = Territory(resources.settings)
        """Which folders are taken, so that no subscriber imports over the log, the blob store or a source."""

    @property
    def settings(self) -> BoardSettings:
        """What the board is made of."""
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

    async def viewer(self) -> Agent:
        """An agent that can be asked about the board."""
        return await self.agents.viewer()
