"""A publisher, as the service that embeds it sees it."""

import secrets
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from callboard.actors.agent import Agent
from callboard.actors.publisher import roles
from callboard.app.user import current_user
from callboard.app.views import Package
from callboard.errors import LogUnavailable, RequestRefused
from callboard.messages.distribution import Kind
from callboard.messages.mailbox import DistributeRequest, DistributeResponse, QueueSize, Sizes, SizesQuery

if TYPE_CHECKING:
    from callboard.app.board import Callboard

PUBLISH_TIMEOUT_S = 600.0
"""What a request may take, the building of a large package included."""


class Publisher:
    """Ships content under one name. Got from ``Callboard.publisher``; its agent starts with the first request."""

    def __init__(self, board: "Callboard", name: str) -> None:
        self.name = name
        self._board = board

    async def start(self) -> Agent:
        """Start the agent, which otherwise the first request does."""
        return await self._board.publisher_agent(self.name)

    async def publish(
        self,
        source: str | Path,
        paths: Iterable[str] = ("/",),
        *,
        deep: bool = True,
        request_id: str = "",
        user: str = "",
        timeout_s: float = PUBLISH_TIMEOUT_S,
    ) -> Package:
        """Ship what is at ``paths`` of the folder ``source`` as one package, which is imported as a whole.

        Args:
            source: a folder; ``paths`` are absolute inside it, such as ``/blog``.
            paths: what to ship.
            deep: whole trees, replacing what subscribers have there; otherwise just these entries.
            request_id: repeat a request under its id and it is shipped once.
            user: on whose behalf; the user of this process if not given.
            timeout_s: seconds.

        Returns:
            The package, once it is on the log.

        Raises:
            RequestRefused: the source or a path cannot be shipped; the message says why.
            LogUnavailable: it could not be appended; repeat it with its id.
            NotAnswered: it took longer than the timeout; it may still be shipped, so repeat it with its id.
        """
        paths = tuple(paths)
        folder = str(self._board.settings.base / source)
        return await self._request(
            Kind.ADD, paths, paths if deep else (), folder, request_id=request_id, user=user, timeout_s=timeout_s
        )

    async def delete(
        self, paths: Iterable[str], *, request_id: str = "", user: str = "", timeout_s: float = PUBLISH_TIMEOUT_S
    ) -> Package:
        """Have the paths, and everything below them, removed. Arguments and errors as for ``publish``."""
        return await self._request(
            Kind.DELETE, tuple(paths), (), "", request_id=request_id, user=user, timeout_s=timeout_s
        )

    async def invalidate(
        self, paths: Iterable[str], *, request_id: str = "", user: str = "", timeout_s: float = PUBLISH_TIMEOUT_S
    ) -> Package:
        """Tell subscribers that the paths changed, in order with content. Arguments and errors as for ``publish``."""
        return await self._request(
            Kind.INVALIDATE, tuple(paths), (), "", request_id=request_id, user=user, timeout_s=timeout_s
        )

    async def test(self, *, timeout_s: float = PUBLISH_TIMEOUT_S) -> Package:
        """Append a package that does nothing."""
        return await self._request(Kind.TEST, (), (), "", request_id="", user="", timeout_s=timeout_s)

    async def packages(self, timeout_s: float = 60.0) -> int:
        """How many packages of this publisher the log holds. Raises ``LogUnavailable``, ``NotAnswered``."""
        agent = await self.start()
        question = SizesQuery(queues=(QueueSize(publisher=self.name, after=-1),))
        sizes = await agent.ask(roles.QUEUE_CACHE, question, timeout_s)
        assert isinstance(sizes, Sizes)
        if sizes.problem:
            raise LogUnavailable(sizes.problem)
        return sizes.queues[0].size

    async def _request(
        self,
        kind: Kind,
        paths: tuple[str, ...],
        deep_paths: tuple[str, ...],
        source: str,
        *,
        request_id: str,
        user: str,
        timeout_s: float,
    ) -> Package:
        request = DistributeRequest(
            request_id=request_id or secrets.token_hex(16),
            kind=kind,
            paths=paths,
            deep_paths=deep_paths,
            source=source,
            user=user or current_user(),
        )
        agent = await self.start()
        answer = await agent.ask(roles.DISTRIBUTOR, request, timeout_s)
        assert isinstance(answer, DistributeResponse)
        if not answer.accepted:
            error = LogUnavailable if answer.retry else RequestRefused
            raise error(answer.reason)
        return Package(
            id=answer.package_id,
            offset=answer.offset,
            kind=kind.name,
            publisher=self.name,
            paths=paths,
            length=answer.length,
            entries=answer.entries,
        )
