"""A subscriber, as the service that embeds it sees it."""

from types import TracebackType
from typing import TYPE_CHECKING, Literal, Self, TypedDict

from callboard.actors.agent import Agent
from callboard.actors.backoff import Backoff
from callboard.actors.subscriber import SubscriberSettings, roles
from callboard.messages.distribution import DiscoveryMessage
from callboard.messages.mailbox import AnnouncedQuery, CaughtUpQuery, Report, ReportQuery

if TYPE_CHECKING:
    from callboard.app.board import Callboard

class SubscriberOptions(TypedDict, total=False):
    """What a subscriber can be told, with the meaning and the defaults of ``SubscriberSettings``."""

    follows: tuple[str, ...]
    editable: bool
    max_retries: int
    start: Literal["earliest", "latest"] | int
    on_gap: Literal["fail", "earliest"]
    on_undecodable: Literal["block", "dead_letter"]
    retry: Backoff
    announce_interval_s: float
    claim_ttl_s: float
    outbox_max: int


DRAIN_S = 30.0
"""What a running import gets to finish when the subscriber is stopped."""


class Subscriber:
    """Imports packages into its repository from ``start`` to ``stop``, or inside ``async with``."""

    def __init__(self, board: "Callboard", settings: SubscriberSettings) -> None:
        self.name = settings.name
        self._board = board
        self._settings = settings
        self._agent: Agent | None = None

    async def start(self) -> Agent:
        """Start the agent.

        What stands in its way (the name is taken, the repository is held) is raised by ``caught_up`` and ``ended``.
        """
        if self._agent is None:
            self._agent = await self._board.start_subscriber(self._settings)
        return self._agent

    async def stop(self, drain_s: float = DRAIN_S) -> None:
        """Finish the running import, for up to ``drain_s`` seconds, say goodbye, and end. Idempotent."""
        if self._agent is not None:
            await self._agent.stop(drain_s)
            self._board.forget(self._agent)
            self._agent = None

    async def caught_up(self, timeout_s: float = 60.0) -> None:
        """Wait until every package that is on the log now is processed, and announced to be.

        Raises:
            NotAnswered: it is not, within ``timeout_s`` seconds; ``report`` says why.
            SubscriberTaken: another instance runs under this name.
            RepositoryBusy: another process has the repository.
        """
        agent = await self.start()
        answer = await agent.ask(roles.IMPORTER, CaughtUpQuery(), timeout_s)
        assert isinstance(answer, Report)
        await agent.ask(roles.ANNOUNCER, AnnouncedQuery(offset=answer.announcement.offset), timeout_s)

    async def report(self, timeout_s: float = 10.0) -> DiscoveryMessage:
        """What the subscriber says of itself at this moment. Raises as ``caught_up``."""
        answer = await (await self.start()).ask(roles.IMPORTER, ReportQuery(), timeout_s)
        assert isinstance(answer, Report)
        return answer.announcement

    async def ended(self) -> None:
        """Wait until the subscriber has ended. Returns after ``stop``; raises what ended it otherwise."""
        await (await self.start()).ended()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()
